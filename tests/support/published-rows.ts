import { type BlobStore, type CellRow, groupKey } from '@thrice/core';
import { cellRowSchema } from '../../packages/core/src/domain/cell.ts';

/** Returns the key of a run's artifact. */
export function runKey(group: string, run: string, name: string): string {
  return groupKey(group, `${run}/${name}`);
}

/** Reads the rows of a published cells file. */
export async function readRowFile(
  blobs: Pick<BlobStore, 'readLines'>,
  key: string,
): Promise<readonly CellRow[]> {
  const rows: CellRow[] = [];
  for await (const line of blobs.readLines(key)) rows.push(cellRowSchema.parse(JSON.parse(line)));
  return rows;
}
