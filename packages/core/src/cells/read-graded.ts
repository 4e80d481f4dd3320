import type { Config } from '../domain/benchmark.ts';
import type { CellKey, RecordedAnswer } from '../domain/cell.ts';
import type { Ledger } from '../ports/ledger.ts';
import { answerAlone } from '../scorers/confidence/answer-alone.ts';

/** Reads the answer that a grade cell grades, without a confidence beside it; undefined if there is none. */
export async function readGraded(
  { run, id }: Pick<CellKey, 'run' | 'id'>,
  { grades: answering = '', parser }: Pick<Config, 'grades' | 'parser'>,
  ledger: Pick<Ledger, 'readCells'>,
): Promise<RecordedAnswer | undefined> {
  const result = (await ledger.readCells(run, answering, [id])).get(id)?.result;
  return result === undefined || result.outcome === 'failed'
    ? undefined
    : answerAlone({ parser }, result);
}
