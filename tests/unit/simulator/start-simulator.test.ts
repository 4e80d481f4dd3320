import { questionKey, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import {
  ask,
  askForError,
  post,
  readEvents,
  SkippingClock,
  StoppedClock,
} from './simulator-client.ts';

describe('startSimulator', () => {
  it('answers for any model with one fixed text by default', async () => {
    await using simulator = await startSimulator({ clock: new SkippingClock() });

    const response = await post(simulator, { text: 'What is the answer?', model: 'any/model' });

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toEqual({
      id: 'chatcmpl-sim-1',
      object: 'chat.completion',
      created: 1_767_323_045,
      model: 'any/model',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'The answer is 42.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 5,
        completion_tokens: 5,
        total_tokens: 10,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
      system_fingerprint: 'fp_simulator',
    });
  });

  it('listens on a free loopback port and serves /v1', async () => {
    await using simulator = await startSimulator();

    expect(simulator.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  });

  it('keeps idle connections open for over a minute', async () => {
    await using simulator = await startSimulator();

    const response = await post(simulator, { text: 'q' });
    await response.text();

    expect(response.headers.get('keep-alive')).toBe('timeout=75');
  });

  it('refuses connections after closing, and closes only once', async () => {
    const simulator = await startSimulator();
    await simulator.close();
    await simulator.close();

    await expect(post(simulator, { text: 'q' })).rejects.toThrow('fetch failed');
  });

  it('names the port that is not available', async () => {
    await using simulator = await startSimulator();
    const port = Number(new URL(simulator.url).port);

    await expect(startSimulator({ port })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: `the simulator cannot listen on 127.0.0.1:${port}: listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
    });
  });

  it.each([
    ['{"model":', 'We could not parse the JSON body of your request.'],
    ['[]', 'Expected the body to be a JSON object.'],
    ['{"messages":[{"role":"user","content":"q"}]}', "Missing required parameter: 'model'."],
    ['{"model":"m"}', "Missing required parameter: 'messages'."],
    ['{"model":"m","messages":[]}', "Missing required parameter: 'messages'."],
  ])('rejects the body %s', async (body, message) => {
    await using simulator = await startSimulator();

    const response = await fetch(`${simulator.url}/chat/completions`, { method: 'POST', body });

    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: { message, type: 'invalid_request_error', param: null, code: null },
    });
  });

  it('answers an unknown path with 404', async () => {
    await using simulator = await startSimulator();

    const response = await fetch(`${simulator.url}/embeddings?x=1`, { method: 'POST' });

    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      error: {
        message: 'Unknown request URL: POST /v1/embeddings.',
        type: 'invalid_request_error',
        param: null,
        code: 'unknown_url',
      },
    });
  });

  it('reports its own bugs instead of letting the client wait', async () => {
    const clock = {
      now: () => 0,
      sleep: async () => await Promise.reject(new Error('the clock is broken')),
    };
    const behaviour = { seed: 1, models: { m: { accuracy: 1, latencyMs: { fixed: 1 } } } };
    await using simulator = await startSimulator({ behaviour, clock });

    const error = await askForError(simulator, { text: 'q' });

    expect(error).toMatchObject({
      status: 500,
      code: 'simulator_error',
      message: 'the clock is broken',
    });
  });

  it('reads the text parts of the last user message', async () => {
    await using simulator = await startSimulator({
      recordings: [{ question: 'ab', arm: 'direct', prediction: 'yes' }],
    });
    const messages = [
      { role: 'user', content: 'earlier' },
      { role: 'assistant', content: 'reply' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'image_url', image_url: { url: 'data:,' } },
          { type: 'text', text: 'b' },
        ],
      },
    ];

    const answer = await ask(simulator, { text: '', extra: { messages } });

    expect(answer.text).toBe('yes');
  });
});

describe('GET /v1/models', () => {
  it('lists the simulated models', async () => {
    await using simulator = await startSimulator({
      behaviour: { seed: 1, models: { a: { accuracy: 1 }, 'lab/b': { accuracy: 1 } } },
    });

    const list = await fetch(`${simulator.url}/models`);
    const known = await fetch(`${simulator.url}/models/lab%2Fb`);
    const unknown = await fetch(`${simulator.url}/models/c`);

    expect(await list.json()).toEqual({
      object: 'list',
      data: ['a', 'lab/b'].map((id) => ({
        id,
        object: 'model',
        created: 0,
        owned_by: 'thrice-simulator',
      })),
    });
    expect(await known.json()).toMatchObject({ id: 'lab/b' });
    expect(unknown.status).toBe(404);
  });

  it('lists nothing if every name is served', async () => {
    await using simulator = await startSimulator();

    const list = await fetch(`${simulator.url}/models`);
    const one = await fetch(`${simulator.url}/models/%`);

    expect(await list.json()).toEqual({ object: 'list', data: [] });
    expect(await one.json()).toMatchObject({ id: '%', object: 'model' });
  });
});

describe('streaming', () => {
  interface Chunk {
    readonly choices: readonly {
      readonly delta: { readonly role?: string; readonly content?: string };
      readonly finish_reason: string | null;
    }[];
    readonly usage?: { readonly total_tokens: number } | null;
  }
  const longText = `${'A flag \u{1F1F5}\u{1F1F9} and a smile \u{1F642}. '.repeat(20)}The answer is 7.`;
  const recordings = [{ question: 'q', arm: 'direct', prediction: longText }] as const;

  async function stream(extra: object) {
    await using simulator = await startSimulator({ recordings, clock: new StoppedClock() });
    const response = await post(simulator, { text: 'q', extra: { stream: true, ...extra } });
    const events = readEvents(await response.text());
    return {
      type: response.headers.get('content-type'),
      last: events.at(-1),
      chunks: events.slice(0, -1).map((event) => JSON.parse(event) as Chunk),
    };
  }

  it('sends role, text, finish reason and the end marker', async () => {
    const { type, last, chunks } = await stream({});

    expect(type).toBe('text/event-stream');
    expect(last).toBe('[DONE]');
    expect(chunks[0]).toEqual({
      id: 'chatcmpl-sim-1',
      object: 'chat.completion.chunk',
      created: 0,
      model: 'm',
      choices: [
        {
          index: 0,
          delta: { role: 'assistant', content: '' },
          logprobs: null,
          finish_reason: null,
        },
      ],
    });
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe(longText);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.filter((chunk) => chunk.usage !== undefined)).toEqual([]);
  });

  it('never splits a character', async () => {
    const { chunks } = await stream({});

    const pieces = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '');
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
  });

  it('ends with usage and no choices if usage is requested', async () => {
    const { chunks } = await stream({ stream_options: { include_usage: true } });

    const tokens = Math.ceil(longText.length / 4);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: tokens + 1 } });
    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
  });
});

describe('stats', () => {
  it('counts requests and answers per cell key', async () => {
    const simulator = await startSimulator();
    await ask(simulator, { text: 'one', cell: 'g-r1/c/q1/answer' });
    await ask(simulator, { text: 'one', cell: 'g-r1/c/q1/answer' });
    await ask(simulator, { text: 'one', cell: 'g-r1/c/q2/answer' });
    await simulator.close();

    const stats = simulator.stats();

    expect(stats.requestCount).toBe(3);
    expect(stats.okCount).toBe(3);
    expect(stats.requestsByQuestion).toEqual(
      new Map([
        ['g-r1/c/q1/answer', { requests: 2, ok: 2 }],
        ['g-r1/c/q2/answer', { requests: 1, ok: 1 }],
      ]),
    );
  });

  it('counts by arm and question text if there is no cell key', async () => {
    const simulator = await startSimulator();
    const prompt = 'Prefix.\n\nQ: old\nA: 1\n\nQ: new\nA:';
    await ask(simulator, { text: prompt });
    await ask(simulator, { text: `${prompt} Let's think step by step.` });
    await simulator.close();

    const { requestsByQuestion } = simulator.stats();

    expect([...requestsByQuestion.keys()]).toEqual(['direct: new', 'cot: new']);
    expect(questionKey({ arm: 'cot', question: 'new' })).toBe('cot: new');
  });

  it('counts an error as a request but not as an answer', async () => {
    const simulator = await startSimulator({ recordings: [] });
    await askForError(simulator, { text: 'q' });
    await simulator.close();

    expect(simulator.stats()).toEqual({
      requestCount: 1,
      okCount: 0,
      faultCounts: {},
      maxOpenCount: 1,
      requestsByQuestion: new Map([['direct: q', { requests: 1, ok: 0 }]]),
      billed: { calls: 0, inputTokens: 0, outputTokens: 0 },
      rateWindows: [],
    });
  });

  it('counts how many requests were open at the same time', async () => {
    const clock = new StoppedClock((sleeperCount) => {
      if (sleeperCount === 3) clock.release();
    });
    const behaviour = { seed: 1, models: { m: { accuracy: 1, latencyMs: { fixed: 1000 } } } };
    const simulator = await startSimulator({ behaviour, clock });
    await Promise.all(['a', 'b', 'c'].map((text) => ask(simulator, { text })));
    await ask(simulator, { text: 'd' });
    await simulator.close();

    expect(simulator.stats().maxOpenCount).toBe(3);
  });

  it('serves the same counts to other processes as JSON', async () => {
    await using simulator = await startSimulator({
      faults: { seed: 1, faults: [{ kind: 'overloaded', count: 1 }] },
    });
    await askForError(simulator, { text: 'q' });
    await ask(simulator, { text: 'q' });

    const response = await fetch(new URL('/thrice/stats', simulator.url));

    expect(await response.json()).toEqual({
      requestCount: 2,
      okCount: 1,
      faultCounts: { overloaded: 1 },
      maxOpenCount: 1,
      requestsByQuestion: { 'direct: q': { requests: 2, ok: 1 } },
      billed: { calls: 1, inputTokens: 1, outputTokens: 5 },
      rateWindows: [],
    });
  });
});
