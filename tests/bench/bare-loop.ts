import OpenAI from 'openai';

// What anybody would write first: the client as it comes, so many calls at a time, nothing stored.
const [url = '', count = '', concurrency = '', question = ''] = process.argv.slice(2);
const client = new OpenAI({ baseURL: url, apiKey: 'none', maxRetries: 0 });
let next = 0;

async function work(): Promise<void> {
  while (next < Number(count)) {
    next += 1;
    const answer = await client.chat.completions.create({
      model: 'model',
      messages: [{ role: 'user', content: question }],
    });
    if (answer.choices[0]?.message.content !== 'The answer is 42.') throw new Error('wrong answer');
  }
}

const startedMs = performance.now();
await Promise.all(Array.from({ length: Number(concurrency) }, work));
process.stdout.write(String((Number(count) * 1000) / (performance.now() - startedMs)));
