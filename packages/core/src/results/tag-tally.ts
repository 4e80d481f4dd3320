import type { CellRow } from '../domain/cell.ts';
import type { TagSummary } from './summary.ts';

/** A tag with more values than this is an identifier rather than a grouping and is left out. */
const MAX_TAG_VALUES = 200;

interface Counts {
  firstRunCells: number;
  cells: number;
  scored: number;
  unparsed: number;
  correct: number;
  scoreSum: number;
}

/** Sums the rows of one config by tag value, pooled over replicates. */
export class TagTally {
  readonly #byTag = new Map<string, Map<string, Counts>>();

  /** @param isFirstRun - Questions are counted in the first run only, cells in every run. */
  add(row: CellRow, isFirstRun: boolean): void {
    for (const [tag, value] of Object.entries(row.tags)) {
      const byValue = this.#byTag.get(tag) ?? new Map<string, Counts>();
      this.#byTag.set(tag, byValue);
      if (byValue.size > MAX_TAG_VALUES) continue;
      const counts = byValue.get(value) ?? emptyCounts();
      byValue.set(value, counts);
      if (isFirstRun) counts.firstRunCells += 1;
      countRow(counts, row);
    }
  }

  summarize(): Record<string, Record<string, TagSummary>> {
    const groupings = [...this.#byTag].filter(([, byValue]) => byValue.size <= MAX_TAG_VALUES);
    return Object.fromEntries(
      groupings.map(([tag, byValue]) => [
        tag,
        Object.fromEntries([...byValue].map(([value, counts]) => [value, summarizeTag(counts)])),
      ]),
    );
  }
}

function countRow(counts: Counts, { outcome, score }: CellRow): void {
  counts.cells += 1;
  if (outcome === 'scored') counts.scored += 1;
  if (outcome === 'unparsed') counts.unparsed += 1;
  if (score === 1) counts.correct += 1;
  counts.scoreSum += score ?? 0;
}

function emptyCounts(): Counts {
  return { firstRunCells: 0, cells: 0, scored: 0, unparsed: 0, correct: 0, scoreSum: 0 };
}

function summarizeTag(counts: Counts): TagSummary {
  const scoreCount = counts.scored + counts.unparsed;
  return {
    questions: counts.firstRunCells,
    cells: counts.cells,
    scored: counts.scored,
    unparsed: counts.unparsed,
    correct: counts.correct,
    score: scoreCount === 0 ? null : counts.scoreSum / scoreCount,
  };
}
