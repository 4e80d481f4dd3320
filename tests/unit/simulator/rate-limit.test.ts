import { type RateLimit, type Simulator, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { ask, askForError, post, SkippingClock, StoppedClock } from './simulator-client.ts';

const ONE_A_SECOND: RateLimit = { requestsPerMinute: 60, burstSeconds: 1 };

interface LimitedServer extends AsyncDisposable {
  readonly simulator: Simulator;
  /** The status of a question that is asked so long after the first one. */
  statusAt(seconds: number, cell?: string): Promise<number>;
}

async function startWith(rateLimit: RateLimit): Promise<LimitedServer> {
  const clock = new SkippingClock();
  const startMs = clock.nowMs;
  const simulator = await startSimulator({
    faults: { seed: 1, faults: [], rateLimit },
    clock,
  });
  return {
    simulator,
    statusAt: async (seconds, cell) => {
      clock.nowMs = startMs + seconds * 1000;
      const response = await post(simulator, { text: 'q', ...(cell !== undefined && { cell }) });
      await response.text();
      return response.status;
    },
    [Symbol.asyncDispose]: async () => await simulator.close(),
  };
}

async function statusesAt(server: LimitedServer, seconds: readonly number[]): Promise<number[]> {
  const statuses: number[] = [];
  for (const second of seconds) statuses.push(await server.statusAt(second));
  return statuses;
}

describe('a rate limit', () => {
  it('admits as many requests as it is refilled for', async () => {
    await using server = await startWith(ONE_A_SECOND);

    const statuses = await statusesAt(server, [0, 0, 0.9, 1, 1.5, 2, 9, 9]);

    expect(statuses).toEqual([200, 429, 429, 200, 429, 200, 200, 429]);
  });

  it('admits a minute of requests at once without a burst of its own', async () => {
    await using server = await startWith({ requestsPerMinute: 3 });

    const statuses = await statusesAt(server, [0, 0, 0, 0, 20, 20]);

    expect(statuses).toEqual([200, 200, 200, 429, 200, 429]);
  });

  it('counts the tokens that the responses report', async () => {
    await using server = await startWith({ tokensPerMinute: 60, burstSeconds: 10 });
    const { usage } = await ask(server.simulator, { text: 'q' });

    const statuses = await statusesAt(server, [0, 2, 7.9, 8]);

    expect(usage.total_tokens).toBe(6);
    expect(statuses).toEqual([429, 200, 429, 200]);
  });

  it('admits a request for more tokens than it holds when it is full', async () => {
    await using server = await startWith({ tokensPerMinute: 60, burstSeconds: 1 });

    const statuses = await statusesAt(server, [0, 5.9, 6]);

    expect(statuses).toEqual([200, 429, 200]);
  });

  it('bounds the requests that are open at the same time', async () => {
    const allSlept = Promise.withResolvers<void>();
    const clock = new StoppedClock((count) => count === 2 && allSlept.resolve());
    await using simulator = await startSimulator({
      behaviour: { seed: 1, models: { '*': { accuracy: 1, latencyMs: { fixed: 1000 } } } },
      questions: [{ id: 'q', question: 'q', target: 'a' }],
      faults: { seed: 1, faults: [], rateLimit: { maxConcurrency: 2 } },
      clock,
    });
    const open = [post(simulator, { text: 'q' }), post(simulator, { text: 'q' })];
    await allSlept.promise;

    const third = await askForError(simulator, { text: 'q' });
    clock.release();
    await Promise.all(open.map(async (each) => await (await each).text()));
    const fourth = await post(simulator, { text: 'q' });

    expect(third).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect(third.headers.get('retry-after')).toBeNull();
    expect(fourth.status).toBe(200);
  });

  it.each<[string, RateLimit['change'], number[]]>([
    ['a time', { afterSeconds: 10, requestsPerMinute: 6 }, [200, 200, 200, 429, 200]],
    ['a number of requests', { afterRequests: 3, requestsPerMinute: 6 }, [200, 200, 200, 200, 429]],
  ])('changes after %s', async (_, change, expected) => {
    await using server = await startWith({ ...ONE_A_SECOND, change });

    const statuses = await statusesAt(server, [0, 8, 10, 11, 20]);

    expect(statuses).toEqual(expected);
  });
});

describe('the response of a rate-limited provider', () => {
  it.each<[RateLimit['retryAfter'], Record<string, string | null>]>([
    [undefined, { 'retry-after': null, 'retry-after-ms': null }],
    ['seconds', { 'retry-after': '2', 'retry-after-ms': null }],
    ['milliseconds', { 'retry-after': null, 'retry-after-ms': '1500' }],
  ])('says how long to wait in: %s', async (retryAfter, expected) => {
    const limit = { requestsPerMinute: 40, burstSeconds: 1.5, ...(retryAfter && { retryAfter }) };
    await using server = await startWith(limit);
    await ask(server.simulator, { text: 'q' });

    const { headers, ...error } = await askForError(server.simulator, { text: 'q' });

    expect(error).toMatchObject({ status: 429, type: 'requests', code: 'rate_limit_exceeded' });
    expect(
      Object.fromEntries(Object.keys(expected).map((name) => [name, headers.get(name)])),
    ).toEqual(expected);
  });

  it('has the rate-limit headers of OpenAI', async () => {
    const limit = { requestsPerMinute: 5000, tokensPerMinute: 6, headers: 'openai' } as const;
    await using server = await startWith(limit);

    const first = await post(server.simulator, { text: 'q' });
    const second = await post(server.simulator, { text: 'q' });

    expect(rateLimitsOf(first)).toEqual({
      'x-ratelimit-limit-requests': '5000',
      'x-ratelimit-limit-tokens': '6',
      'x-ratelimit-remaining-requests': '4999',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-requests': '12ms',
      'x-ratelimit-reset-tokens': '1m0s',
    });
    expect(second.status).toBe(429);
    expect(rateLimitsOf(second)).toEqual(rateLimitsOf(first));
  });

  it('has the rate-limit headers of Anthropic', async () => {
    await using server = await startWith({
      requestsPerMinute: 50,
      tokensPerMinute: 20_000,
      headers: 'anthropic',
    });

    const response = await post(server.simulator, { text: 'q'.repeat(2_400) });

    expect(rateLimitsOf(response)).toEqual({
      'anthropic-ratelimit-requests-limit': '50',
      'anthropic-ratelimit-requests-remaining': '49',
      'anthropic-ratelimit-requests-reset': '2026-01-02T03:04:07Z',
      'anthropic-ratelimit-tokens-limit': '20000',
      'anthropic-ratelimit-tokens-remaining': '19000',
      'anthropic-ratelimit-tokens-reset': '2026-01-02T03:04:07Z',
    });
  });

  it('has none of them where the limit is hidden', async () => {
    await using server = await startWith(ONE_A_SECOND);

    const response = await post(server.simulator, { text: 'q' });

    expect(rateLimitsOf(response)).toEqual({});
  });
});

describe('the statistics of a rate limit', () => {
  it('say in windows of ten seconds what it admitted and refused, and how much of it was used', async () => {
    const change = { afterSeconds: 15, requestsPerMinute: 120 };
    await using server = await startWith({ ...ONE_A_SECOND, change });

    await server.statusAt(0, 'a-r1/c/q1/answer');
    await server.statusAt(0, 'b-r1/c/q1/answer');
    for (const second of [4, 5, 6, 7, 12, 20]) await server.statusAt(second, 'b-r1/c/q1/answer');

    const { rateWindows, faultCounts } = server.simulator.stats();
    expect(rateWindows).toEqual([
      {
        startSeconds: 0,
        admittedCount: 5,
        refusedCount: 1,
        admittedTokens: 30,
        allowedRequests: 10,
        allowedTokens: null,
        utilizationRatio: 0.5,
        admittedByRun: { 'a-r1': 1, 'b-r1': 4 },
      },
      {
        startSeconds: 10,
        admittedCount: 1,
        refusedCount: 0,
        admittedTokens: 6,
        allowedRequests: 15,
        allowedTokens: null,
        utilizationRatio: 1 / 15,
        admittedByRun: { 'b-r1': 1 },
      },
      {
        startSeconds: 20,
        admittedCount: 1,
        refusedCount: 0,
        admittedTokens: 6,
        allowedRequests: 0,
        allowedTokens: null,
        utilizationRatio: null,
        admittedByRun: { 'b-r1': 1 },
      },
    ]);
    expect(faultCounts).toEqual({ 'rate-limit': 1 });
  });

  it('are empty without one', async () => {
    await using simulator = await startSimulator();

    await ask(simulator, { text: 'q' });

    expect(simulator.stats().rateWindows).toEqual([]);
  });
});

function rateLimitsOf({ headers }: Response): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.includes('ratelimit')));
}
