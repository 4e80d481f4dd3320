import type { CellRow } from '../domain/cell.ts';
import type { GroupHeader } from '../domain/group.ts';
import { type RowStores, readRows } from '../results/read-rows.ts';
import type { LoadedGroup } from '../spec/load-group.ts';
import { plannedConfigs } from './graded-group.ts';
import { withCurrentGrading } from './gradings.ts';

/** The rows of one run, to be exported: config by config, each in question order. */
export interface ExportedRun {
  readonly header: GroupHeader;
  readonly rows: readonly CellRow[];
}

/** Reads the rows of a run under the current grading of its group. */
export async function readRun(
  { header, benchmark }: Pick<LoadedGroup, 'header' | 'benchmark'>,
  run: string,
  stores: RowStores,
): Promise<ExportedRun> {
  const graded = await withCurrentGrading(header, benchmark, stores.blobs);
  const rows: CellRow[] = [];
  for (const config of plannedConfigs(header, graded)) {
    for await (const row of readRows(header, run, config, stores)) rows.push(row);
  }
  return { header, rows };
}
