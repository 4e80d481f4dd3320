import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A model server in a process of its own, which answers `42` at once, and judges every answer right. Prints its base URL. */
const VERDICT = 'extracted_answer: 42\nreasoning: the same number\ncorrect: yes\nconfidence: None';
const usage = { prompt_tokens: 200, completion_tokens: 20, total_tokens: 220 };

const server = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  request.on('end', () => {
    const isToJudge = text.includes('extracted_answer:');
    const message = { role: 'assistant', content: isToJudge ? VERDICT : '42' };
    const choice = { index: 0, message, finish_reason: 'stop' };
    const model = isToJudge ? 'judge' : 'model';
    const completion = { id: 'c', object: 'chat.completion', model, choices: [choice], usage };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(completion));
  });
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`http://127.0.0.1:${port}/v1\n`);
});
