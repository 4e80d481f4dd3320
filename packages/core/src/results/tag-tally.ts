import * as z from 'zod';
import type { CellRow } from '../domain/cell.ts';
import { countedScoreOf } from '../domain/ruling.ts';
import { MetricTally, type MetricTallyState, metricTallySchema } from './metric-tally.ts';
import type { TagSummary } from './summary.ts';

/** A tag with more values than this is an identifier rather than a grouping and is left out. */
const MAX_TAG_VALUES = 200;

const countsSchema = z.object({
  cells: z.int(),
  scored: z.int(),
  unparsed: z.int(),
  ruledWrong: z.int(),
  ruledExcluded: z.int(),
  correct: z.int(),
  scoreSum: z.number(),
  /** Absent where no row has any. */
  metrics: metricTallySchema.optional(),
});
type CountsState = z.infer<typeof countsSchema>;
type Counts = Omit<CountsState, 'metrics'> & { readonly metrics: MetricTally };

/** What a {@link TagTally} has counted so far, by tag and value. */
export const tagTallySchema = z.array(
  z.tuple([z.string(), z.array(z.tuple([z.string(), countsSchema]))]),
);
/** What a {@link TagTally} has counted so far, by tag and value. */
export type TagTallyState = z.infer<typeof tagTallySchema>;

/** Sums the rows of one config in one run by tag value. */
export class TagTally {
  readonly #byTag: Map<string, Map<string, Counts>>;

  /** @param from - The state of another tally, to continue with. @default no rows added */
  constructor(from: TagTallyState = []) {
    this.#byTag = new Map(
      from.map(([tag, values]) => [
        tag,
        new Map(
          values.map(([value, counts]) => [
            value,
            { ...counts, metrics: new MetricTally(counts.metrics ?? []) },
          ]),
        ),
      ]),
    );
  }

  add(row: CellRow): void {
    for (const [tag, value] of Object.entries(row.tags)) {
      const byValue = this.#byTag.get(tag) ?? new Map<string, Counts>();
      this.#byTag.set(tag, byValue);
      if (byValue.size > MAX_TAG_VALUES) continue;
      const counts = byValue.get(value) ?? emptyCounts();
      byValue.set(value, counts);
      countRow(counts, row);
    }
  }

  state(): TagTallyState {
    return [...this.#byTag].map(([tag, byValue]) => [
      tag,
      [...byValue].map(([value, counts]) => [value, stateOf(counts)]),
    ]);
  }
}

/**
 * Pools the tallies of one config over its runs.
 *
 * Questions are counted in the first run only, cells in every run.
 */
export function summarizeTags(
  tallies: readonly TagTally[],
): Record<string, Record<string, TagSummary>> {
  const byTag = new Map<string, Map<string, Pooled>>();
  for (const [index, tally] of tallies.entries()) {
    for (const [tag, values] of tally.state()) {
      const byValue = byTag.get(tag) ?? new Map<string, Pooled>();
      byTag.set(tag, byValue);
      for (const [
        value,
        { cells, scored, unparsed, correct, scoreSum, metrics, ...ruled },
      ] of values) {
        const pooled = byValue.get(value) ?? { ...nothing, metricStates: [] };
        byValue.set(value, pooled);
        if (index === 0) pooled.questions = cells;
        pooled.cells += cells;
        pooled.scored += scored;
        pooled.unparsed += unparsed;
        pooled.ruledWrong += ruled.ruledWrong;
        pooled.ruledExcluded += ruled.ruledExcluded;
        pooled.correct += correct;
        pooled.scoreSum += scoreSum;
        if (metrics !== undefined) pooled.metricStates.push(metrics);
      }
    }
  }
  const groupings = [...byTag].filter(([, byValue]) => byValue.size <= MAX_TAG_VALUES);
  return Object.fromEntries(
    groupings.map(([tag, byValue]) => [
      tag,
      Object.fromEntries([...byValue].map(([value, pooled]) => [value, withScore(pooled)])),
    ]),
  );
}

type Pooled = Omit<TagSummary, 'metrics'> & {
  scoreSum: number;
  readonly metricStates: MetricTallyState[];
};

const nothing = {
  questions: 0,
  cells: 0,
  scored: 0,
  unparsed: 0,
  ruledWrong: 0,
  ruledExcluded: 0,
  correct: 0,
  score: null,
  scoreSum: 0,
};

function withScore({ scoreSum, metricStates, ...summary }: Pooled): TagSummary {
  const scoreCount = summary.scored + summary.unparsed + summary.ruledWrong;
  const metrics = new MetricTally(...metricStates).summarize();
  return {
    ...summary,
    score: scoreCount === 0 ? null : scoreSum / scoreCount,
    ...(metrics && { metrics }),
  };
}

function stateOf({ metrics, ...counts }: Counts): CountsState {
  const state = metrics.state();
  return { ...counts, ...(state.length > 0 && { metrics: state }) };
}

function countRow(counts: Counts, row: CellRow): void {
  const { outcome, score, ruling } = row;
  counts.metrics.add(row.metrics);
  counts.cells += 1;
  if (outcome === 'scored') counts.scored += 1;
  if (outcome === 'unparsed') counts.unparsed += 1;
  if (score === 1) counts.correct += 1;
  if (ruling?.as === 'wrong') counts.ruledWrong += 1;
  if (ruling?.as === 'excluded') counts.ruledExcluded += 1;
  counts.scoreSum += countedScoreOf(row) ?? 0;
}

function emptyCounts(): Counts {
  const metrics = new MetricTally();
  return {
    cells: 0,
    scored: 0,
    unparsed: 0,
    ruledWrong: 0,
    ruledExcluded: 0,
    correct: 0,
    scoreSum: 0,
    metrics,
  };
}
