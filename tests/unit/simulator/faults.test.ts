import {
  type Fault,
  type Simulator,
  type SimulatorOptions,
  startSimulator,
} from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import {
  ask,
  askForError,
  post,
  readEvents,
  SkippingClock,
  StoppedClock,
} from './simulator-client.ts';

const prediction = 'A fairly long recorded answer, long enough to be cut. The answer is 7.';

async function startWith(
  faults: readonly Fault[],
  options: SimulatorOptions = {},
): Promise<Simulator> {
  return await startSimulator({
    recordings: Array.from({ length: 100 }, (_, index) => ({
      question: `q${index}`,
      arm: 'direct' as const,
      prediction,
    })),
    faults: { seed: 7, faults: [...faults] },
    ...options,
  });
}

/** Asks questions one after another and returns those that got an error or a broken answer. */
async function faultyAmong(simulator: Simulator, texts: readonly string[]): Promise<string[]> {
  const faulty: string[] = [];
  for (const text of texts) {
    const response = await post(simulator, { text });
    await response.text();
    if (!response.ok) faulty.push(text);
  }
  return faulty;
}

describe('a fault that answers with an error', () => {
  it('is a rate limit with the seconds to wait', async () => {
    await using simulator = await startWith([
      { kind: 'rate-limit', retryAfterSeconds: 3, count: 1 },
      { kind: 'rate-limit' },
    ]);

    const timed = await askForError(simulator, { text: 'q1' });
    const untimed = await askForError(simulator, { text: 'q1' });

    expect(timed).toMatchObject({ status: 429, type: 'requests', code: 'rate_limit_exceeded' });
    expect(timed.headers.get('retry-after')).toBe('3');
    expect(untimed.headers.get('retry-after')).toBeNull();
  });

  it.each([
    [402, 'Insufficient Balance'],
    [400, 'Your credit balance is too low to access the Anthropic API.'],
  ] as const)('is an exhausted quota as status %i', async (status, message) => {
    await using simulator = await startWith([{ kind: 'quota', status }]);

    const error = await askForError(simulator, { text: 'q1' });

    expect(error.status).toBe(status);
    expect(error.message).toContain(message);
  });

  it('is an exhausted quota with the seconds until its reset', async () => {
    await using simulator = await startWith([
      { kind: 'quota', resetSeconds: 30, count: 1 },
      { kind: 'quota' },
    ]);

    const timed = await askForError(simulator, { text: 'q1' });
    const untimed = await askForError(simulator, { text: 'q1' });

    expect(timed).toMatchObject({
      status: 429,
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    });
    expect(timed.headers.get('x-ratelimit-reset-requests')).toBe('30s');
    expect(untimed.headers.get('x-ratelimit-reset-requests')).toBeNull();
  });

  it.each<[Fault, number, string]>([
    [{ kind: 'unauthorized' }, 401, 'invalid_api_key'],
    [{ kind: 'server-error' }, 500, 'server_error'],
    [{ kind: 'server-error', status: 503 }, 503, 'server_error'],
    [{ kind: 'overloaded' }, 529, 'overloaded_error'],
  ])('is %j with status %d and code %s', async (fault, status, code) => {
    await using simulator = await startWith([fault]);

    const error = await askForError(simulator, { text: 'q1' });

    expect(error).toMatchObject({ status, code });
  });

  it('answers a streaming request with the same error', async () => {
    await using simulator = await startWith([{ kind: 'overloaded' }]);

    const error = await askForError(simulator, { text: 'q1', extra: { stream: true } });

    expect(error).toMatchObject({ status: 529, type: 'overloaded_error' });
  });
});

describe('a fault of the connection', () => {
  it('resets it before the headers', async () => {
    await using simulator = await startWith([{ kind: 'reset' }]);

    await expect(post(simulator, { text: 'q1' })).rejects.toThrow('fetch failed');
  });

  it.each([false, true])('resets it after some bytes of the body (stream: %s)', async (stream) => {
    await using simulator = await startWith([{ kind: 'reset', afterBytes: 40 }]);

    const response = await post(simulator, { text: 'q1', extra: { stream } });

    expect(response.status).toBe(200);
    const reader = response.body?.getReader();
    const first = await reader?.read();
    expect(first?.value).toHaveLength(40);
    await expect(reader?.read()).rejects.toThrow('terminated');
  });

  it('never sends the whole body before a reset', async () => {
    await using simulator = await startWith([{ kind: 'reset', afterBytes: 1_000_000 }]);

    const response = await post(simulator, { text: 'q1' });

    await expect(response.text()).rejects.toThrow('terminated');
  });

  it('also resets a request that has no answer', async () => {
    await using simulator = await startWith([{ kind: 'reset', afterBytes: 40 }]);

    await expect(post(simulator, { text: 'no recording' })).rejects.toThrow('fetch failed');
  });

  it('hangs until the client disconnects', async () => {
    const simulator = await startWith([{ kind: 'hang' }]);
    const controller = new AbortController();
    const asked = post(simulator, { text: 'q1', signal: controller.signal });
    // The answer to a later request shows that the first has arrived and is waiting.
    while (simulator.stats().faultCounts.hang === undefined) {
      await fetch(`${simulator.url}/models`);
    }

    controller.abort();

    await expect(asked).rejects.toThrow('aborted');
    await simulator.close();
    expect(simulator.stats()).toMatchObject({ okCount: 0, faultCounts: { hang: 1 } });
  });

  it('hangs for some seconds, then closes the connection', async () => {
    const clock = new SkippingClock();
    await using simulator = await startWith([{ kind: 'hang', seconds: 90 }], { clock });

    await expect(post(simulator, { text: 'q1' })).rejects.toThrow('fetch failed');

    expect(clock.waitsMs).toEqual([90_000]);
  });
});

describe('a fault of the answer', () => {
  it.each([false, true])('drips the real answer (stream: %s)', async (stream) => {
    const clock = new SkippingClock();
    const simulator = await startWith([{ kind: 'drip', seconds: 19 }], { clock });

    const response = await post(simulator, { text: 'q1', extra: { stream } });
    const body = await response.text();
    await simulator.close();

    if (stream) expect(readEvents(body).at(-1)).toBe('[DONE]');
    else
      expect(JSON.parse(body)).toMatchObject({ choices: [{ message: { content: prediction } }] });
    expect(clock.waitsMs.length).toBeGreaterThan(15);
    expect(clock.waitsMs.reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(19_000);
    expect(simulator.stats()).toMatchObject({ okCount: 1, faultCounts: { drip: 1 } });
  });

  it('truncates the JSON in a body that is complete for HTTP', async () => {
    await using simulator = await startWith([{ kind: 'truncated-json' }]);

    const response = await post(simulator, { text: 'q1' });
    const body = await response.text();

    expect(response.status).toBe(200);
    expect(response.headers.get('content-length')).toBe(String(body.length));
    expect(body).toMatch(/^\{"id":/);
    expect(() => JSON.parse(body) as unknown).toThrow(SyntaxError);
  });

  it('truncates a stream inside a chunk', async () => {
    await using simulator = await startWith([{ kind: 'truncated-json' }]);

    const response = await post(simulator, { text: 'q1', extra: { stream: true } });
    const last = readEvents(await response.text()).at(-1) ?? '';

    expect(last).toMatch(/^\{"id"/);
    expect(() => JSON.parse(last) as unknown).toThrow(SyntaxError);
  });

  it('omits the text and finishes with "length"', async () => {
    await using simulator = await startWith([{ kind: 'empty-content' }]);

    const answer = await ask(simulator, { text: 'q1' });

    expect(answer).toMatchObject({ status: 200, text: '', finishReason: 'length' });
  });

  it('reports a usage limit and its reset time with status 200', async () => {
    const clock = new SkippingClock();
    await using simulator = await startWith([{ kind: 'usage-limit', resetSeconds: 90 }], { clock });

    const answer = await ask(simulator, { text: 'q1' });

    const epochSeconds = Date.parse('2026-01-02T03:05:35Z') / 1000;
    expect(answer).toMatchObject({
      text: `Claude AI usage limit reached|${epochSeconds}`,
      finishReason: 'stop',
    });
  });

  it('names another served model', async () => {
    await using simulator = await startWith([{ kind: 'wrong-model', servedModel: 'cheap' }]);

    const answer = await ask(simulator, { text: 'q1', model: 'dear' });

    expect(answer).toMatchObject({ model: 'cheap', text: prediction });
  });

  it('finishes the answer with "content_filter"', async () => {
    await using simulator = await startWith([{ kind: 'content-filter' }]);

    const answer = await ask(simulator, { text: 'q1' });

    expect(answer).toMatchObject({ text: prediction, finishReason: 'content_filter' });
    expect(answer.usage.completion_tokens).toBeGreaterThan(0);
  });

  it('reports the tokens of the answer without choices', async () => {
    await using simulator = await startWith([{ kind: 'no-choices', count: 1 }]);

    const spoiled = (await (await post(simulator, { text: 'q1' })).json()) as object;
    const { usage } = await ask(simulator, { text: 'q1' });

    expect(spoiled).toMatchObject({ object: 'chat.completion', model: 'm', usage });
    expect(spoiled).not.toHaveProperty('choices');
  });

  it('reports the tokens of a streamed answer without choices', async () => {
    await using simulator = await startWith([{ kind: 'no-choices' }]);

    const extra = { stream: true, stream_options: { include_usage: true } };
    const response = await post(simulator, { text: 'q1', extra });
    const [only = '', ...rest] = readEvents(await response.text());

    expect(JSON.parse(only)).toMatchObject({ choices: [], usage: { completion_tokens: 18 } });
    expect(rest).toEqual(['[DONE]']);
  });

  it.each<[Fault, string]>([
    [{ kind: 'error-object' }, 'server_error'],
    [{ kind: 'error-object', error: 'quota' }, 'insufficient_quota'],
    [{ kind: 'error-object', error: 'rate-limit' }, 'rate_limit_exceeded'],
  ])('sends an error object with status 200: %j', async (fault, code) => {
    await using simulator = await startWith([fault]);

    const error = await askForError(simulator, { text: 'q1' });
    const streamed = await post(simulator, { text: 'q1', extra: { stream: true } });

    expect(error).toMatchObject({ status: 200, code });
    expect(streamed.headers.get('content-type')).toBe('text/event-stream');
    const events = readEvents(await streamed.text());
    expect(events.map((event) => JSON.parse(event) as unknown)).toMatchObject([
      { error: { code } },
    ]);
  });

  it.each<Fault>([
    { kind: 'truncated-json' },
    { kind: 'empty-content' },
    { kind: 'usage-limit' },
    { kind: 'wrong-model', servedModel: 'cheap' },
    { kind: 'content-filter' },
    { kind: 'no-choices' },
    { kind: 'error-object' },
  ])('does not count as an answer: %j', async (fault) => {
    const simulator = await startWith([fault]);

    await (await post(simulator, { text: 'q1' })).text();
    await simulator.close();

    expect(simulator.stats()).toMatchObject({ okCount: 0, faultCounts: { [fault.kind]: 1 } });
  });

  it('skips a request that has no answer', async () => {
    await using simulator = await startWith([{ kind: 'empty-content' }]);

    const error = await askForError(simulator, { text: 'no recording' });

    expect(error.code).toBe('no_recording');
    expect(simulator.stats().faultCounts).toEqual({});
  });

  it('keeps the latency of the answer', async () => {
    const clock = new SkippingClock();
    const behaviour = { seed: 1, models: { '*': { accuracy: 1, latencyMs: { fixed: 500 } } } };
    await using simulator = await startSimulator({
      behaviour,
      clock,
      faults: { seed: 1, faults: [{ kind: 'reset', afterBytes: 5 }] },
    });

    const response = await post(simulator, { text: 'q' });

    await expect(response.text()).rejects.toThrow('terminated');
    expect(clock.waitsMs).toEqual([500]);
  });
});

describe('what is billed', () => {
  const usageRequested = { stream: true, stream_options: { include_usage: true } };
  const question = { inputTokens: 1, outputTokens: 18 };

  async function billedFor(faults: readonly Fault[], extra: object) {
    const simulator = await startWith(faults, { clock: new SkippingClock() });
    const response = await post(simulator, { text: 'q1', extra }).catch(() => undefined);
    await response?.text().catch(() => undefined);
    await simulator.close();
    return simulator.stats().billed;
  }

  it.each<[string, Fault[]]>([
    ['an answer', []],
    ['an answer that drips', [{ kind: 'drip', seconds: 2 }]],
    ['an answer of another model', [{ kind: 'wrong-model', servedModel: 'cheap' }]],
    ['a filtered answer', [{ kind: 'content-filter' }]],
    ['an answer without text', [{ kind: 'empty-content' }]],
    ['a body without choices', [{ kind: 'no-choices' }]],
  ])('is %s, with the tokens it reports', async (_, faults) => {
    const billed = { calls: 1, ...question };
    expect(await billedFor(faults, {})).toEqual(billed);
    expect(await billedFor(faults, usageRequested)).toEqual(billed);
  });

  it('is a usage limit in place of an answer, with the tokens of its text', async () => {
    const billed = { calls: 1, inputTokens: 1, outputTokens: 10 };
    expect(await billedFor([{ kind: 'usage-limit' }], {})).toEqual(billed);
  });

  it.each<Fault>([
    { kind: 'rate-limit' },
    { kind: 'server-error' },
    { kind: 'error-object' },
    { kind: 'error-object', error: 'quota' },
    { kind: 'truncated-json' },
    { kind: 'reset' },
    { kind: 'reset', afterBytes: 40 },
    { kind: 'hang', seconds: 1 },
  ])('is not a response without the tokens of a completion: %j', async (fault) => {
    const nothing = { calls: 0, inputTokens: 0, outputTokens: 0 };
    expect(await billedFor([fault], {})).toEqual(nothing);
    expect(await billedFor([fault], usageRequested)).toEqual(nothing);
  });

  it('is a stream that is cut after it reported its tokens, but not a document cut at its end', async () => {
    const atTheEnd: Fault = { kind: 'reset', afterBytes: 1_000_000 };
    expect(await billedFor([atTheEnd], usageRequested)).toEqual({ calls: 1, ...question });
    expect(await billedFor([atTheEnd], {})).toMatchObject({ calls: 0 });
  });

  it('is no stream that reports no tokens', async () => {
    expect(await billedFor([], { stream: true })).toMatchObject({ calls: 0 });
  });

  it('is no answer whose client disconnects first', async () => {
    const slept = Promise.withResolvers<void>();
    const clock = new StoppedClock(() => slept.resolve());
    const models = { '*': { accuracy: 1, latencyMs: { fixed: 500 } } };
    const simulator = await startSimulator({ behaviour: { seed: 1, models }, clock });
    const controller = new AbortController();
    const asked = post(simulator, { text: 'q1', signal: controller.signal });
    const refused = expect(asked).rejects.toThrow('aborted');
    await slept.promise;

    controller.abort();

    await refused;
    await simulator.close();
    expect(simulator.stats().billed).toMatchObject({ calls: 0 });
  });

  it('is no request without an answer', async () => {
    const simulator = await startWith([]);
    await askForError(simulator, { text: 'no recording' });
    await simulator.close();
    expect(simulator.stats().billed).toMatchObject({ calls: 0 });
  });

  it('adds up over requests, and is in the stats of the server', async () => {
    await using simulator = await startWith([]);
    await ask(simulator, { text: 'q1' });
    const { billed } = simulator.stats();
    await ask(simulator, { text: 'q22' });

    expect(billed).toEqual({ calls: 1, ...question });
    const response = await fetch(new URL('/thrice/stats', simulator.url));

    expect(await response.json()).toMatchObject({
      billed: { calls: 2, inputTokens: 2, outputTokens: 36 },
    });
  });
});

describe('the condition of a fault', () => {
  const texts = Array.from({ length: 100 }, (_, index) => `q${index}`);

  it('rate picks the same questions in any order', async () => {
    await using forward = await startWith([{ kind: 'overloaded', rate: 0.3 }]);
    await using backward = await startWith([{ kind: 'overloaded', rate: 0.3 }]);

    const first = await faultyAmong(forward, texts);
    const second = await faultyAmong(backward, texts.toReversed());

    expect(first.toSorted()).toEqual(second.toSorted());
    expect(first.length).toBeGreaterThan(15);
    expect(first.length).toBeLessThan(45);
  });

  it('rate is drawn again for each repetition of a question', async () => {
    await using simulator = await startWith([{ kind: 'overloaded', rate: 0.5 }]);
    const repeated = Array<string>(100).fill('q1');

    const faulty = await faultyAmong(simulator, repeated);

    expect(faulty.length).toBeGreaterThan(30);
    expect(faulty.length).toBeLessThan(70);
  });

  it('rate is drawn independently for each fault of the file', async () => {
    await using simulator = await startWith([
      { kind: 'overloaded', rate: 0.5 },
      { kind: 'unauthorized', rate: 0.5 },
    ]);

    await faultyAmong(simulator, texts);

    const { overloaded = 0, unauthorized = 0 } = simulator.stats().faultCounts;
    expect(overloaded).toBeGreaterThan(30);
    expect(unauthorized).toBeGreaterThan(10);
    expect(unauthorized).toBeLessThan(overloaded);
  });

  it('count limits the number of injections', async () => {
    await using simulator = await startWith([{ kind: 'overloaded', count: 2 }]);

    expect(await faultyAmong(simulator, texts.slice(0, 5))).toEqual(['q0', 'q1']);
  });

  it('requests restricts it to a range of request numbers', async () => {
    await using simulator = await startWith([
      { kind: 'overloaded', requests: [2, 3] },
      { kind: 'overloaded', requests: [5] },
    ]);

    const faulty = await faultyAmong(simulator, texts.slice(0, 6));

    expect(faulty).toEqual(['q1', 'q2', 'q4', 'q5']);
  });

  it('seconds restricts it to a range of time since the first request', async () => {
    const clock = new SkippingClock();
    await using simulator = await startWith([{ kind: 'overloaded', seconds: [10, 20] }], { clock });
    const startMs = clock.nowMs;
    const faultyAfterMs: number[] = [];

    for (const ms of [0, 9_999, 10_000, 19_999, 20_000]) {
      clock.nowMs = startMs + ms;
      const faulty = await faultyAmong(simulator, ['q1']);
      if (faulty.length > 0) faultyAfterMs.push(ms);
    }

    expect(faultyAfterMs).toEqual([10_000, 19_999]);
  });

  it('betweenSeconds replaces seconds for faults that have a duration', async () => {
    const clock = new SkippingClock();
    const simulator = await startWith([{ kind: 'drip', seconds: 1, betweenSeconds: [10] }], {
      clock,
    });

    await ask(simulator, { text: 'q1' });
    clock.nowMs += 10_000;
    await ask(simulator, { text: 'q1' });

    await simulator.close();
    expect(simulator.stats().faultCounts).toEqual({ drip: 1 });
  });

  it('model restricts it to one model', async () => {
    await using simulator = await startWith([{ kind: 'unauthorized', model: 'a' }]);

    const error = await askForError(simulator, { text: 'q1', model: 'a' });
    const answer = await ask(simulator, { text: 'q1', model: 'ab' });

    expect([error.status, answer.status]).toEqual([401, 200]);
  });

  it('maxPerQuestion lets the next request for a question through', async () => {
    await using simulator = await startWith([{ kind: 'overloaded', maxPerQuestion: 2 }]);

    const faulty = await faultyAmong(simulator, ['q1', 'q1', 'q1', 'q2', 'q2', 'q2', 'q1']);

    expect(faulty).toEqual(['q1', 'q1', 'q2', 'q2']);
  });

  it('window passes a number of requests and reports when it ends', async () => {
    const clock = new SkippingClock();
    await using simulator = await startWith(
      [{ kind: 'quota', window: { requests: 2, seconds: 60 } }],
      { clock },
    );

    const faulty = await faultyAmong(simulator, ['q0', 'q1', 'q2', 'q3']);
    clock.nowMs += 12_500;
    const error = await askForError(simulator, { text: 'q4' });
    clock.nowMs += 47_500;
    const later = await faultyAmong(simulator, ['q5', 'q6', 'q7']);

    expect(faulty).toEqual(['q2', 'q3']);
    expect(error.headers.get('x-ratelimit-reset-requests')).toBe('48s');
    expect(later).toEqual(['q7']);
  });

  it('applies only if all other conditions hold', async () => {
    await using simulator = await startWith([
      { kind: 'overloaded', model: 'm', requests: [2], count: 1 },
    ]);

    expect(await faultyAmong(simulator, ['q0', 'q1', 'q2'])).toEqual(['q1']);
  });

  it('is checked in file order', async () => {
    await using simulator = await startWith([
      { kind: 'unauthorized', requests: [1, 1] },
      { kind: 'overloaded' },
    ]);

    const statuses = [
      (await askForError(simulator, { text: 'q1' })).status,
      (await askForError(simulator, { text: 'q1' })).status,
    ];

    expect(statuses).toEqual([401, 529]);
  });
});

describe('closing', () => {
  it('ends requests that are still waiting', async () => {
    const slept = Promise.withResolvers<void>();
    const clock = new StoppedClock(() => slept.resolve());
    const simulator = await startWith([{ kind: 'hang', seconds: 60 }], { clock });
    const asked = post(simulator, { text: 'q1' });
    const refused = expect(asked).rejects.toThrow('fetch failed');
    await slept.promise;

    await simulator.close();

    await refused;
  });
});
