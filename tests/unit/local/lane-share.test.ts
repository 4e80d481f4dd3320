import type { Random } from '@thrice/core';
import { accountOf } from '@thrice/local';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aLane } from '../../support/builders.ts';
import {
  type LimitedVendor,
  runLimitedLane,
  type SimulatedProcess,
  seededRandom,
} from '../../support/limited-lane.ts';

const MINUTE_MS = 60_000;
/** When a vendor changes its limit, and how long a lane has to find it. */
const CHANGE_MS = 4 * MINUTE_MS;
const FIND_MS = 2 * MINUTE_MS;

function aVendor(parts: Partial<LimitedVendor> = {}): LimitedVendor {
  return { burstSeconds: 1, latencyMs: 2_000, header: 'none', ...parts };
}

/** Processes of one group. */
function processes(count: number, workers: number): readonly SimulatedProcess[] {
  return Array.from({ length: count }, () => ({ group: 'a', workers }));
}

/** Sizes between a fifth and nine fifths of the average. */
const mixedSizes = (random: Random) => Math.round(100 + 800 * random());

describe('a hidden limit that changes once', () => {
  it.each([
    ['1 worker', processes(1, 1), 240, 200],
    ['50 workers of one process', processes(1, 50), 600, 2_000],
    ['50 workers of 5 processes', processes(5, 10), 600, 2_000],
    ['500 workers of 5 processes', processes(5, 100), 1_800, 2_000],
  ] as const)(
    'of requests is used to nine tenths and refuses less than 2 % once it is found, by %s',
    async (_, workers, requestsPerMinute, latencyMs) => {
      for (const burstSeconds of [1, 60]) {
        const change = { requestsPerMinute: requestsPerMinute / 2, atMs: CHANGE_MS };
        const vendor = aVendor({ requestsPerMinute, burstSeconds, latencyMs, change });

        const run = await runLimitedLane({
          vendor,
          processes: workers,
          durationMs: CHANGE_MS + 2 * FIND_MS,
        });

        for (const fromMs of [FIND_MS, CHANGE_MS + FIND_MS]) {
          const { usedRatio, refusedRatio } = run.between(fromMs, fromMs + FIND_MS);
          expect(usedRatio).toBeGreaterThanOrEqual(0.9);
          expect(refusedRatio).toBeLessThan(0.02);
        }
      }
    },
  );

  it.each([
    ['falls', 150_000],
    ['rises', 450_000],
  ])('of tokens is used to nine tenths for calls of any size when it %s', async (_, later) => {
    const change = { tokensPerMinute: later, atMs: CHANGE_MS };

    const run = await runLimitedLane({
      vendor: aVendor({ tokensPerMinute: 300_000, change }),
      processes: processes(2, 25),
      durationMs: CHANGE_MS + 2 * FIND_MS,
      tokensOf: mixedSizes,
    });

    for (const fromMs of [FIND_MS, CHANGE_MS + FIND_MS]) {
      const { usedRatio, refusedRatio } = run.between(fromMs, fromMs + FIND_MS);
      expect(usedRatio).toBeGreaterThanOrEqual(0.9);
      expect(refusedRatio).toBeLessThan(0.02);
    }
  });

  it('is found whatever it is, and however a refusal says when to come back', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          requestsPerMinute: fc.integer({ min: 120, max: 1_200 }),
          burstSeconds: fc.constantFrom(1, 5, 60),
          latencyMs: fc.integer({ min: 100, max: 5_000 }),
          header: fc.constantFrom('seconds' as const, 'milliseconds' as const, 'none' as const),
        }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 1e6 }),
        async (vendor, processCount, seed) => {
          const run = await runLimitedLane({
            vendor,
            processes: processes(processCount, 150 / processCount),
            durationMs: 2 * FIND_MS,
            random: seededRandom(seed),
          });
          const { usedRatio, refusedRatio } = run.between(FIND_MS, 2 * FIND_MS);

          expect(usedRatio).toBeGreaterThanOrEqual(0.88);
          expect(refusedRatio).toBeLessThan(0.04);
        },
      ),
      { numRuns: 12, seed: 23 },
    );
  });
});

describe('a limit that the vendor states in its headers', () => {
  it('is kept as soon as the first answers have come, also when it changes', async () => {
    const change = { requestsPerMinute: 300, atMs: MINUTE_MS };

    const run = await runLimitedLane({
      vendor: aVendor({ requestsPerMinute: 600, burstSeconds: 5, statesLimit: true, change }),
      processes: processes(2, 20),
      durationMs: 2 * MINUTE_MS,
    });

    for (const fromMs of [10_000, MINUTE_MS + 10_000]) {
      const { usedRatio, refusedRatio } = run.between(fromMs, fromMs + 50_000);
      expect(usedRatio).toBeGreaterThanOrEqual(0.9);
      expect(refusedRatio).toBeLessThan(0.02);
    }
  });
});

describe('a vendor that refuses some calls by chance', () => {
  it.each([0.02, 0.05])('does not slow a lane down that has no limit: %s', async (chance) => {
    const [run, calm] = await Promise.all(
      [chance, 0].map((each) =>
        runLimitedLane({
          vendor: aVendor({ chance: each }),
          processes: processes(2, 100),
          durationMs: 4 * MINUTE_MS,
        }),
      ),
    );

    expect(run?.callCount).toBeGreaterThan(0.8 * (calm?.callCount ?? Number.NaN));
  });

  it.each([
    [0.02, 'none'],
    [0.05, 'none'],
    [0.05, 'seconds'],
  ] as const)(
    'is called as fast as it answers once its limit is lifted: %s, Retry-After in %s',
    async (chance, header) => {
      const run = await runLimitedLane({
        vendor: aVendor({
          requestsPerMinute: 600,
          chance,
          header,
          change: { atMs: 3 * MINUTE_MS },
        }),
        processes: processes(2, 100),
        durationMs: 9 * MINUTE_MS,
      });

      const { byGroup } = run.between(7 * MINUTE_MS, 9 * MINUTE_MS);
      const callsInTwoMinutes = (200 * 2 * MINUTE_MS) / 2_000;
      expect(byGroup['a']).toBeGreaterThan(0.8 * callsInTwoMinutes);
    },
  );

  it.each([0.02, 0.05])('is called at its limit, if it has one: %s', async (chance) => {
    const run = await runLimitedLane({
      vendor: aVendor({ requestsPerMinute: 1_200, chance }),
      processes: processes(2, 50),
      durationMs: 8 * MINUTE_MS,
    });

    const { usedRatio, refusedRatio } = run.between(4 * MINUTE_MS, 8 * MINUTE_MS);
    expect(usedRatio).toBeGreaterThanOrEqual(0.9);
    expect(refusedRatio).toBeLessThan(chance + 0.03);
  });

  it('does not slow a lane down whose limit the spec states', async () => {
    const run = await runLimitedLane({
      vendor: aVendor({ requestsPerMinute: 6_000, chance: 0.01 }),
      processes: processes(2, 100),
      lane: { requestsPerMinute: 6_000 },
      durationMs: 6 * MINUTE_MS,
    });

    expect(run.between(5 * MINUTE_MS, 6 * MINUTE_MS).usedRatio).toBeGreaterThan(0.85);
  });
});

describe('a limit that the spec states', () => {
  it.each([60, 600, 6_000])('is never exceeded: %s requests a minute', async (rpm) => {
    const run = await runLimitedLane({
      vendor: aVendor({ requestsPerMinute: rpm }),
      processes: processes(3, 100),
      lane: { requestsPerMinute: rpm },
      durationMs: 2 * MINUTE_MS,
    });

    const { usedRatio, refusedRatio } = run.between(MINUTE_MS, 2 * MINUTE_MS);
    expect(usedRatio).toBeGreaterThanOrEqual(0.95);
    expect(refusedRatio).toBe(0);
  });

  it('holds for tokens as the vendor counts them, whatever the bound of a call says', async () => {
    const run = await runLimitedLane({
      vendor: aVendor({ tokensPerMinute: 300_000 }),
      processes: processes(2, 50),
      lane: { tokensPerMinute: 300_000 },
      durationMs: 3 * MINUTE_MS,
      tokensOf: mixedSizes,
    });

    const { usedRatio, refusedRatio } = run.between(MINUTE_MS, 3 * MINUTE_MS);
    expect(usedRatio).toBeGreaterThanOrEqual(0.95);
    expect(refusedRatio).toBeLessThan(0.01);
  });

  it.each([1, 10])('holds for the calls in flight of all processes: %s', async (maxConcurrency) => {
    const run = await runLimitedLane({
      vendor: aVendor(),
      processes: processes(3, 20),
      lane: { maxConcurrency },
      durationMs: 2 * MINUTE_MS,
    });

    const { maxInFlight, byGroup } = run.between(0, 2 * MINUTE_MS);
    const mostCalls = (maxConcurrency * 2 * MINUTE_MS) / 2_000;
    expect(maxInFlight).toBe(maxConcurrency);
    expect(byGroup['a']).toBeGreaterThan(0.85 * mostCalls);
  });
});

describe('groups on one lane', () => {
  const lane = { requestsPerMinute: 600 };
  const vendor = aVendor({ requestsPerMinute: 600 });
  const other = { group: 'b', workers: 64 };

  it.each([
    ['one process each', [other]],
    ['one process against three', [other, other, other]],
  ])('share it equally, with %s', async (_, others) => {
    const run = await runLimitedLane({
      vendor,
      lane,
      processes: [...processes(1, 64), ...others],
      durationMs: 3 * MINUTE_MS,
    });

    const { a = 0, b = 0 } = run.between(MINUTE_MS, 3 * MINUTE_MS).byGroup;
    expect(Math.abs(a - b) / (a + b)).toBeLessThan(0.05);
  });

  it('share its calls in flight equally', async () => {
    const run = await runLimitedLane({
      vendor: aVendor(),
      lane: { maxConcurrency: 10 },
      processes: [...processes(1, 64), other, other],
      durationMs: 3 * MINUTE_MS,
    });

    const { a = 0, b = 0 } = run.between(MINUTE_MS, 3 * MINUTE_MS).byGroup;
    expect(Math.abs(a - b) / (a + b)).toBeLessThan(0.05);
  });

  it('leave what they do not use to the others, at once and only as long as they do not', async () => {
    const guest = { group: 'b', workers: 64, fromMs: MINUTE_MS, untilMs: 2 * MINUTE_MS };

    const run = await runLimitedLane({
      vendor,
      lane,
      processes: [...processes(1, 64), guest],
      durationMs: 3 * MINUTE_MS,
    });

    const alone = run.between(MINUTE_MS / 2, MINUTE_MS).byGroup;
    const shared = run.between(1.2 * MINUTE_MS, 2 * MINUTE_MS).byGroup;
    const again = run.between(2.1 * MINUTE_MS, 3 * MINUTE_MS);
    expect(alone['a']).toBeGreaterThanOrEqual(295);
    expect(shared['b'] ?? 0).toBeGreaterThan(0.95 * (shared['a'] ?? 0));
    expect(again.usedRatio).toBeGreaterThanOrEqual(0.97);
  });
});

describe('a lane that is shared', () => {
  it('asks the ledger a few times a second, not once per call', async () => {
    const run = await runLimitedLane({
      vendor: aVendor({ requestsPerMinute: 30_000 }),
      lane: { requestsPerMinute: 30_000 },
      processes: processes(2, 1_500),
      durationMs: 10_000,
    });

    expect(run.callCount).toBeGreaterThan(4_500);
    expect(run.exchangeCount).toBeLessThan(200);
  });

  it('makes no call before the time that a refusal asks for has passed, in any process', async () => {
    const run = await runLimitedLane({
      vendor: aVendor({ requestsPerMinute: 600, header: 'seconds', latencyMs: 100 }),
      processes: processes(2, 10),
      durationMs: 5_000,
    });

    // Everybody knows of the first refusal within a second.
    expect(run.earliestAfterRefusal(500)).toBeGreaterThanOrEqual(1_000);
  });

  it('is identified by its name, its endpoints and the variable of its key', () => {
    const lane = aLane({ endpoints: ['http://a/v1', 'http://b/v1'], apiKeyEnv: 'KEY' });

    const same = aLane({ ...lane, endpoints: ['http://b/v1', 'http://a/v1'], timeoutMs: 1 });

    expect(accountOf(same)).toBe(accountOf(lane));
    for (const other of [{ name: 'x' }, { endpoints: ['http://a/v1'] }, { apiKeyEnv: 'OTHER' }]) {
      expect(accountOf(aLane({ ...lane, ...other }))).not.toBe(accountOf(lane));
    }
  });
});
