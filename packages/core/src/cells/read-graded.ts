import type { Config } from '../domain/benchmark.ts';
import type { CellKey, RecordedAnswer } from '../domain/cell.ts';
import type { Ledger } from '../ports/ledger.ts';

/** Reads the answer that a grade cell grades; undefined if there is none. */
export async function readGraded(
  { run, id }: Pick<CellKey, 'run' | 'id'>,
  { grades: answering = '' }: Pick<Config, 'grades'>,
  ledger: Pick<Ledger, 'readCells'>,
): Promise<RecordedAnswer | undefined> {
  const result = (await ledger.readCells(run, answering, [id])).get(id)?.result;
  return result === undefined || result.outcome === 'failed' ? undefined : result;
}
