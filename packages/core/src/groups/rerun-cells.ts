import type { Config } from '../domain/benchmark.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { PlanStores } from './plan-group.ts';
import { chooseFailed, sendTasks } from './send-tasks.ts';

/**
 * Sends the cells of some runs that ended without a score once more, as their next generation.
 *
 * Nothing is reset here: the claim of the new task does that, so a crash in between loses nothing, and
 * sending twice is harmless. Committed calls are kept and not paid again.
 *
 * @returns How many cells were sent; those nobody attempted are in their queue anyway.
 */
export async function rerunCells(
  header: GroupHeader,
  runs: readonly string[],
  configs: readonly Config[],
  { ledger, blobs, queue }: PlanStores,
): Promise<number> {
  const choose = chooseFailed(ledger);
  const { sentCount } = await sendTasks({ header, runs, configs, choose }, { blobs, queue });
  return sentCount;
}
