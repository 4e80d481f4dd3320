import type { RateLimit } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { FakeLanePaces } from '../../support/fake-lane-paces.ts';
import { callHiddenLimit, type HiddenLimit } from '../../support/hidden-limit.ts';
import { groupShare, sumWindows } from '../../support/rate-windows.ts';

/** A vendor that 20 calls a second use up, whatever the number of workers. */
function vendorFor(workerCount: number, limit: RateLimit): HiddenLimit {
  return { limit, latencyMs: Math.max(20, 20 * workerCount), tokens: 100 };
}

const requests: RateLimit = { requestsPerMinute: 1_200, burstSeconds: 1, retryAfter: 'seconds' };
const tokens: RateLimit = { tokensPerMinute: 120_000, burstSeconds: 1, retryAfter: 'seconds' };
/** Minutes until the limit is found, and found again after its change. */
const FIND_WINDOWS = 12;

describe('workers of a stage on a lane with a hidden limit', () => {
  it.each<[number, string, RateLimit]>([
    [1, 'requests', { ...requests, change: { afterSeconds: 240, requestsPerMinute: 600 } }],
    [50, 'requests', { ...requests, change: { afterSeconds: 240, requestsPerMinute: 600 } }],
    [500, 'requests', { ...requests, change: { afterSeconds: 240, requestsPerMinute: 600 } }],
    [1, 'tokens', { ...tokens, change: { afterSeconds: 240, tokensPerMinute: 240_000 } }],
    [50, 'tokens', { ...tokens, change: { afterSeconds: 240, tokensPerMinute: 240_000 } }],
    [50, 'requests, without Retry-After', { requestsPerMinute: 1_200, burstSeconds: 1 }],
    [50, 'requests, of which a minute is stored', { requestsPerMinute: 1_200 }],
  ])('use nine tenths of it with few refusals: %i on a limit of %s', async (count, _, limit) => {
    const windows = await callHiddenLimit({
      provider: vendorFor(count, limit),
      groups: [{ group: 'demo', workerCount: count }],
      paces: new FakeLanePaces(),
      seconds: 480,
    });

    const settled = [windows.slice(FIND_WINDOWS, 24), windows.slice(24 + FIND_WINDOWS, 48)];
    for (const { utilizationRatio, refusedRatio } of settled.map(sumWindows)) {
      expect(utilizationRatio).toBeGreaterThan(0.9);
      expect(refusedRatio).toBeLessThan(0.02);
    }
  });

  it('are called at the rate that its vendor states after the first refusal', async () => {
    const stated = {
      requestsPerMinute: 1_200,
      tokensPerMinute: 100_000,
      headers: 'openai',
    } as const;
    const windows = await callHiddenLimit({
      provider: vendorFor(50, { ...stated, retryAfter: 'seconds' }),
      groups: [{ group: 'demo', workerCount: 50 }],
      paces: new FakeLanePaces(),
      seconds: 180,
    });

    const { utilizationRatio, refusedRatio } = sumWindows(windows.slice(6, 18));
    expect(utilizationRatio).toBeCloseTo(0.97, 2);
    expect(refusedRatio).toBe(0);
  });

  it('write little to the pace: turns in blocks, and nothing for an answer', async () => {
    const paces = new FakeLanePaces();
    const windows = await callHiddenLimit({
      provider: { ...vendorFor(8, requests), latencyMs: 50 },
      groups: [{ group: 'demo', workerCount: 8 }],
      paces,
      seconds: 300,
    });

    const callCount = windows.reduce((sum, { admittedCount }) => sum + admittedCount, 0);
    const writes = paces.log.filter((method) => method !== 'read').length;
    expect(writes / callCount).toBeLessThan(0.4);
  });
});

describe('workers of a stage on a lane that refuses calls by chance', () => {
  /** Far above what the workers call. */
  const unlimited: RateLimit = { requestsPerMinute: 1e7 };

  it.each([
    [1, 200, 0.02],
    [8, 200, 0.02],
    [8, 200, 0.05],
    [8, 2_000, 0.02],
    [50, 1_000, 0.02],
    [64, 300, 0.02],
  ])('call it at nearly their full speed: %i workers, %i ms a call, %f', async (...row) => {
    const [workerCount, latencyMs, chanceRatio] = row;
    const windows = await callHiddenLimit({
      provider: { limit: unlimited, latencyMs, tokens: 100, chanceRatio },
      groups: [{ group: 'demo', workerCount }],
      paces: new FakeLanePaces(),
      seconds: 600,
    });

    const answered = windows
      .slice(FIND_WINDOWS)
      .reduce((sum, { admittedCount }) => sum + admittedCount, 0);
    // A refused cell waits for a second, whatever the rate is.
    const msPerAnswer = latencyMs + (chanceRatio / (1 - chanceRatio)) * 1_020;
    const most = (workerCount * 480_000) / msPerAnswer;
    expect(answered / most).toBeGreaterThan(0.85);
  });

  it('use what limit it has, too', async () => {
    const windows = await callHiddenLimit({
      provider: { ...vendorFor(50, requests), chanceRatio: 0.02 },
      groups: [{ group: 'demo', workerCount: 50 }],
      paces: new FakeLanePaces(),
      seconds: 600,
    });

    const { utilizationRatio, refusedRatio } = sumWindows(windows.slice(FIND_WINDOWS, 60));
    expect(utilizationRatio).toBeGreaterThan(0.85);
    expect(refusedRatio).toBeLessThan(0.05);
  });
});

describe('two groups on a lane with a hidden limit', () => {
  it.each([
    [25, 25],
    [45, 5],
    [10, 40],
  ])('share it within a tenth of fairly, with %i and %i workers', async (first, second) => {
    const windows = await callHiddenLimit({
      provider: { limit: requests, latencyMs: 200, tokens: 100 },
      groups: [
        { group: 'a', workerCount: first },
        { group: 'b', workerCount: second },
      ],
      paces: new FakeLanePaces(),
      seconds: 300,
    });

    const settled = windows.slice(FIND_WINDOWS, 30);
    expect(Math.abs(groupShare(settled) - 0.5)).toBeLessThan(0.05);
    expect(sumWindows(settled).utilizationRatio).toBeGreaterThan(0.9);
    expect(sumWindows(settled).refusedRatio).toBeLessThan(0.02);
  });

  it('leave to one what the other does not need', async () => {
    const windows = await callHiddenLimit({
      provider: { limit: requests, latencyMs: 1_000, tokens: 100 },
      groups: [
        { group: 'a', workerCount: 60 },
        { group: 'b', workerCount: 2 },
      ],
      paces: new FakeLanePaces(),
      seconds: 300,
    });

    const settled = windows.slice(FIND_WINDOWS, 30);
    const ofB = settled.reduce((sum, { admittedByRun }) => sum + (admittedByRun['b-r1'] ?? 0), 0);
    expect(ofB / 180).toBeGreaterThan(1.5);
    expect(sumWindows(settled).utilizationRatio).toBeGreaterThan(0.88);
  });
});
