import { accountOf, LocalEngine } from '@thrice/local';
import { describe, expect, it } from 'vitest';
import { readLaneLimits } from '../../../packages/cli/src/local/lane-limit-status.ts';
import { aLane } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { runLimitedLane } from '../../support/limited-lane.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const DURATION_MS = 20_000;
const processes = ['a', 'b'].map((group) => ({ group, workers: 16 }));

describe('two engines on one database', () => {
  it.each([
    ['a limit that the spec states', { requestsPerMinute: 600, maxConcurrency: 30 }],
    ['a limit that only refusals show', {}],
  ])('share %s between their groups, and say what is believed', async (_, lane) => {
    await using folder = await temporaryFolder();
    await using engines = new AsyncDisposableStack();
    let lastClock = new FakeClock();
    const openLimits = (clock: FakeClock) => {
      lastClock = clock;
      return engines.use(new LocalEngine(folder.path, clock)).laneLimits;
    };

    const run = await runLimitedLane({
      vendor: { requestsPerMinute: 600, burstSeconds: 1, latencyMs: 1_000, header: 'milliseconds' },
      processes,
      lane,
      durationMs: DURATION_MS,
      openLimits,
    });
    using reader = new LocalEngine(folder.path, lastClock);
    const limits = await readLaneLimits(reader, aLane(lane));

    const { usedRatio, byGroup } = run.between(DURATION_MS / 2, DURATION_MS);
    const { a = 0, b = 0 } = byGroup;
    expect(usedRatio).toBeGreaterThanOrEqual(0.9);
    expect(Math.abs(a - b) / (a + b)).toBeLessThan(0.1);
    const isSpec = 'requestsPerMinute' in lane;
    expect(limits?.requestsPerMinute.source).toBe(isSpec ? 'spec' : 'found');
    expect(limits?.requestsPerMinute.limit).toBeGreaterThanOrEqual(500);
    expect(limits?.requestsPerMinute.used).toBeGreaterThan(500);
    expect(limits?.concurrency.limit).toBe(isSpec ? 30 : null);
    expect(await reader.laneLimits.read(accountOf(aLane({ name: 'other' })))).toBeUndefined();
  });
});
