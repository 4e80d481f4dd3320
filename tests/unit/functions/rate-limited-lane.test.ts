import { describe, expect, it } from 'vitest';
import { simulateLane } from '../../support/simulated-lane.ts';

const headers = ['seconds', 'milliseconds', 'none'] as const;

describe('64 workers of a stage on a lane that takes one call a second', () => {
  it.each(headers)(
    'deliver 100 cells when refusals give the time to wait in: %s',
    async (header) => {
      const run = await simulateLane({
        vendor: { perSecond: 1, header, latencyMs: 2_000 },
        cellCount: 100,
        workerCount: 64,
        endsAfterMs: 360_000,
      });

      expect(run.answerCount).toBe(100);
    },
  );
});

describe('64 workers of a stage on a faster lane', () => {
  it.each(headers)('find its limit within a minute, and use it: %s', async (header) => {
    const run = await simulateLane({
      vendor: { perSecond: 10, header, latencyMs: 1_000 },
      cellCount: 1_200,
      workerCount: 64,
      endsAfterMs: 240_000,
    });

    const later = run.answeredAtMs.filter((atMs) => atMs >= 60_000 && atMs < 90_000);
    expect(later.length / 300).toBeGreaterThan(0.75);
    expect(run.answerCount).toBe(1_200);
  });
});

describe('64 workers of a stage on a lane that only refuses', () => {
  it('block it after five minutes, say why, and leave its cells to the reconciler', async () => {
    const run = await simulateLane({
      vendor: { perSecond: 0, header: 'none', latencyMs: 0, burst: 0 },
      cellCount: 100,
      workerCount: 64,
      endsAfterMs: 600_000,
    });

    expect(run.openBreakers).toMatchObject([
      { breakerKey: 'lab', error: { class: 'exhausted', code: 'quota-exhausted' }, resetAt: null },
    ]);
    const [breaker] = run.openBreakers;
    expect(breaker?.error.message).toMatch(/^every call was refused for 5 minutes: /);
    expect(run.deferred).toEqual(['lab demo']);
  });
});
