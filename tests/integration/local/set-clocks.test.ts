import { limits } from '@thrice/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { additions } from '../../support/additions.ts';
import { BatchedGroup } from '../../support/batched-group.ts';
import { aConfig } from '../../support/builders.ts';
import { collect } from '../../support/collect.ts';

const DAY_MS = 86_400_000;
const cellCount = 3;
const modes = {
  'in batches': {},
  'in the background': {
    lane: { protocol: 'responses', batch: undefined, timeoutMs: 600_000 },
    benchmark: () => ({ configs: [aConfig({ isBackground: true })] }),
    latencyMs: { median: 40_000, p99: 60_000 },
  },
} as const;

const histories = fc.array(
  fc.record({
    /** When the clock of the machine is set, and by how much, ms. */
    atMs: fc.integer({ min: 0, max: 60_000 }),
    byMs: fc.integer({ min: -2 * DAY_MS, max: 2 * DAY_MS }),
  }),
  { minLength: 1, maxLength: 3 },
);

it.each(Object.entries(modes))(
  'cells %s are bought once whenever the clock of the machine is set, and took as long as they took',
  async (_, mode) => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        await using group = await BatchedGroup.open({
          cellCount,
          batches: { seconds: 50 },
          ...mode,
        });
        const { clock, machineClock, engine, header } = group;
        const startMs = clock.monotonicMs();
        for (const { atMs, byMs } of history)
          void clock.sleep(atMs).then(() => {
            machineClock.offsetMs += byMs;
          });

        const ending = await group.work();

        const tookMs = clock.monotonicMs() - startMs;
        const [run = ''] = header.runs;
        const ids = additions(cellCount).map(({ id }) => id);
        const cells = [...(await engine.ledger.readCells(run, 'direct', ids)).values()];
        expect(ending).toEqual({ kind: 'complete' });
        expect(group.billed.calls).toBe(cellCount);
        expect(await collect(engine.ledger.listDiscardedCalls(run, 'direct'))).toEqual([]);
        for (const { result } of cells) {
          expect(result?.outcome).toBe('scored');
          expect(result?.latencyMs).toBeGreaterThanOrEqual(limits.pollBaseMs);
          expect(result?.latencyMs).toBeLessThanOrEqual(tookMs + history.length * limits.pollCapMs);
        }
      }),
      { seed: 23, numRuns: 15 },
    );
  },
);
