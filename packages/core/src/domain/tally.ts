import * as z from 'zod';
import { spendOf } from './call.ts';
import { type CellKey, type CellResult, countRetries, hasScore } from './cell.ts';
import { AWAITING_JUDGE } from './grade.ts';
import { isGradeConfig, isProbeConfig } from './grade-cell.ts';
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
  /** What of the ungraded answers waits for a judge. */
  toGrade: z.number(),
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
  /** Attempts beyond the first of each cell that answers. */
  retries: z.number(),
});
/** Running counts of the results of one config in one run. */
export type Tally = Readonly<z.infer<typeof tallySchema>>;

/** What a tally counts, beside the discarded calls. */
export type TallyChange = Readonly<
  Record<keyof Tally['counts'] | 'toGrade' | 'correct' | 'retries', number> &
    Pick<Tally, 'costUsd' | 'overheadUsd' | 'unpricedCalls'>
>;

const NOTHING = {
  scored: 0,
  unparsed: 0,
  ungraded: 0,
  failed: 0,
  toGrade: 0,
  correct: 0,
  retries: 0,
} as const;

/**
 * What the completion of a cell adds to the tally of {@link answeringConfigOf its config}. The grade of an answer that
 * waited for its judge replaces that answer's count as ungraded; a probe adds its cost.
 */
export function tallyChangeOf(
  { config }: Pick<CellKey, 'config'>,
  result: Pick<CellResult, 'outcome' | 'score' | 'reason' | 'calls' | 'attempts'>,
): TallyChange {
  const { outcome, score, reason, calls } = result;
  if (isProbeConfig(config)) return { ...NOTHING, ...spendOf(calls) };
  const isGrade = isGradeConfig(config);
  const countOf = (each: string) => (outcome === each ? 1 : 0);
  const hasGrade = isGrade && hasScore(outcome);
  return {
    scored: countOf('scored'),
    unparsed: countOf('unparsed'),
    ungraded: isGrade ? (hasGrade ? -1 : 0) : countOf('ungraded'),
    failed: isGrade ? 0 : countOf('failed'),
    toGrade: isGrade ? -1 : reason === AWAITING_JUDGE ? 1 : 0,
    correct: score === 1 ? 1 : 0,
    retries: isGrade ? 0 : countRetries(result),
    ...spendOf(calls),
  };
}

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

/** Counts the cells that have a result according to the tallies, and need no judge for their grade any more. */
export function countDone(tallies: readonly Tally[]): number {
  return countCompleted(tallies) - tallies.reduce((sum, { toGrade }) => sum + toGrade, 0);
}

/** Counts the cells that have a result according to the tallies. */
export function countCompleted(tallies: readonly Tally[]): number {
  const counts = tallies.flatMap((tally) => Object.values(tally.counts));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Counts the planned cells of a group over all of its runs. */
export function countPlanned({ configs, runs }: GroupHeader): number {
  return configs.reduce((sum, { cells }) => sum + cells, 0) * runs.length;
}
