import { readStoredQuestions } from '../cells/read-question.ts';
import type { Benchmark } from '../domain/benchmark.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { ScorerRegistry } from '../domain/scorer.ts';
import { limits } from '../limits.ts';
import { mapBounded } from '../map-bounded.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Ledger } from '../ports/ledger.ts';
import { createSelector } from '../spec/questions/select-questions.ts';
import { type JudgedItem, readJudgedItems } from './judge-verdicts.ts';

/** Where verdicts are read from. */
export interface VerdictStores {
  readonly ledger: Pick<Ledger, 'readJournal'>;
  readonly blobs: Pick<BlobStore, 'readLines'>;
  /** @default the built-in scorers */
  readonly scorers?: ScorerRegistry | undefined;
}

/**
 * Reads the verdicts of the judges of a group's current grading, in the order of runs, configs and questions.
 *
 * @param benchmark - With the scorers of that grading.
 */
export async function readJudgedGroup(
  header: GroupHeader,
  { configs }: Pick<Benchmark, 'configs'>,
  { ledger, blobs, scorers }: VerdictStores,
): Promise<readonly JudgedItem[]> {
  const items: (readonly JudgedItem[])[] = [];
  for (const run of header.runs) {
    for (const { gradedBy } of configs) {
      if (gradedBy === undefined) continue;
      const ids: string[] = [];
      const selector = createSelector(gradedBy.select);
      for await (const { question } of readStoredQuestions(header, blobs))
        if (selector.includes(question)) ids.push(question.id);
      items.push(
        ...(await mapBounded(ids, limits.journalsAtOnce, async (id) => {
          const journal = await ledger.readJournal({ run, id, config: gradedBy.name });
          return readJudgedItems({ run, id }, gradedBy, journal, scorers);
        })),
      );
    }
  }
  return items.flat();
}
