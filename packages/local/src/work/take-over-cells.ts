import { type CellKey, groupOfRun } from '@thrice/core';
import type { LocalEngine } from '../local-engine.ts';

/** Takes over the cells of the dead processes of this machine. Returns those of a group. */
export async function takeOverCells(
  group: string,
  { workers }: Pick<LocalEngine, 'workers'>,
): Promise<readonly CellKey[]> {
  const freed = await workers.takeOver();
  return freed.flatMap(({ cells }) => cells.filter(({ run }) => groupOfRun(run) === group));
}
