import type { Config } from '../domain/benchmark.ts';
import type { CellKey, CellResult } from '../domain/cell.ts';
import type { QuestionRange } from '../domain/cell-task.ts';
import { AWAITING_JUDGE } from '../domain/grade.ts';
import type { Worker } from './worker.ts';

/** An answer that is complete. */
interface CompletedAnswer {
  readonly key: CellKey;
  readonly question: QuestionRange;
  readonly config: Config;
  readonly result: Pick<CellResult, 'reason'>;
}

/**
 * Sends the task that has an answer graded, if it waits for a judge. To be called once the answer is stored and before
 * its own task is acknowledged; a second task for the same grade does no harm.
 */
export async function sendGradeTask(
  { key: { run, id }, question, config, result }: CompletedAnswer,
  { sendTask }: Pick<Worker, 'sendTask'>,
): Promise<void> {
  const { gradedBy } = config;
  if (result.reason !== AWAITING_JUDGE || gradedBy === undefined) return;
  await sendTask(gradedBy.lane, { v: 1, run, id, config: gradedBy.name, question, generation: 0 });
}
