import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startRateLimitedServer } from '../support/rate-limited-server.ts';
import { startThrice } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { waitUntil } from '../support/wait-until.ts';

const PER_SECOND = 40;
/** Enough that cells are left when the rate has been measured. */
const CELL_COUNT = 1_600;
/** How long a run may take to find its rate, ms. */
const FIND_RATE_MS = 20_000;
/** How long its rate is then measured, ms. */
const WATCH_MS = 12_000;

describe('a lane with a rate limit', () => {
  it.concurrent.each(['seconds', 'milliseconds', 'none'] as const)(
    'is used to its limit until the last cell when refusals give the time to wait in: %s',
    async (header) => {
      await using server = await startRateLimitedServer({ perSecond: PER_SECOND, header });
      const files = smallBenchmark({ url: server.url, questionCount: CELL_COUNT, configs: ['m'] });
      await using folder = await temporaryFolder(files);
      await using running = startThrice(['run', 'benchmark.toml', '--parallel', '64'], {
        cwd: folder.path,
      });
      await waitUntil('it is refused', () => server.stats().refusedCount > 0);

      await wait(FIND_RATE_MS);
      server.resetStats();
      await wait(WATCH_MS);
      const { usedRatio } = server.stats();
      const { exitCode, stderr } = await running.ended;

      // Half a minute after its start, on a busy machine; what is used from the second minute on is simulated.
      expect(usedRatio).toBeGreaterThanOrEqual(0.5);
      expect(exitCode).toBe(0);
      expect(server.stats().okCount).toBe(CELL_COUNT);
      expect(stderr).not.toContain('no progress for');
    },
  );
});
