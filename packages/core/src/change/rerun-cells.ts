import type { Config } from '../domain/benchmark.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { PlanStores } from '../plan/plan-group.ts';
import { chooseFailed, sendTasks } from '../plan/send-tasks.ts';
import type { Grader } from '../scorers/grade-answer.ts';

/**
 * Sends the cells that ended without a score again, as their next generation.
 *
 * Resets nothing itself: claiming the new task does. A crash loses nothing, and sending a cell twice is
 * harmless. Recorded calls are kept and not paid for again.
 *
 * @param configs - With the scorers of the current grading.
 * @returns How many cells were sent. Cells that were never attempted are not sent: their tasks are still
 *   in the queue.
 */
export async function rerunCells(
  header: GroupHeader,
  runs: readonly string[],
  configs: readonly Config[],
  { ledger, blobs, queue, ...grader }: PlanStores & Grader,
): Promise<number> {
  const choose = chooseFailed(ledger, configs, grader);
  const { sentCount } = await sendTasks({ header, runs, configs, choose }, { blobs, queue });
  return sentCount;
}
