import * as z from 'zod';
import type { GroupHeader } from './group.ts';

/**
 * Running counts of the results of one config in one run.
 *
 * A tally is a hint: a crash or a store failure can leave it wrong. The cell records are authoritative.
 */
export const tallySchema = z.strictObject({
  run: z.string(),
  config: z.string(),
  counts: z
    .strictObject({
      scored: z.number(),
      unparsed: z.number(),
      ungraded: z.number(),
      failed: z.number(),
    })
    .readonly(),
  /** Cells with score 1. */
  correct: z.number(),
  /** What is known of the cost of the calls, those of the results and the discarded ones, USD: at least so much. */
  costUsd: z.number(),
  /** What of it is the cost of discarded calls. */
  wasteUsd: z.number(),
  /** What of it is the cost of calls that judge or probe. */
  overheadUsd: z.number(),
  /** How many of these calls have no known cost. */
  unpricedCalls: z.number(),
  /** Attempts beyond the first of each cell. */
  retries: z.number(),
});
/** Running counts of the results of one config in one run. */
export type Tally = Readonly<z.infer<typeof tallySchema>>;

/**
 * Whether the tallies of a group's runs count a result for every planned cell.
 *
 * A hint, because tallies are hints. It only triggers finalization, which counts the records.
 */
export function isCounted(header: GroupHeader, tallies: readonly Tally[]): boolean {
  return countDone(tallies) >= countPlanned(header);
}

/** Whether a tally counts a result for every planned cell of its config in its run; a hint as well. */
export function isConfigCounted({ configs }: GroupHeader, tally: Tally): boolean {
  const planned = configs.find(({ config }) => config === tally.config)?.cells ?? 0;
  return countDone([tally]) >= planned;
}

/** Counts the cells that have a result according to the tallies. */
export function countDone(tallies: readonly Tally[]): number {
  const counts = tallies.flatMap((tally) => Object.values(tally.counts));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Counts the planned cells of a group over all of its runs. */
export function countPlanned({ configs, runs }: GroupHeader): number {
  return configs.reduce((sum, { cells }) => sum + cells, 0) * runs.length;
}
