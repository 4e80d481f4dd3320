import type { Config } from '../domain/benchmark.ts';
import type { CellKey, CellResult } from '../domain/cell.ts';
import type { CellTask, QuestionRange } from '../domain/cell-task.ts';
import { AWAITING_JUDGE } from '../domain/grade.ts';

/** An answer that is complete. */
interface CompletedAnswer {
  readonly key: CellKey;
  readonly question: QuestionRange;
  readonly config: Config;
  readonly result: Pick<CellResult, 'reason'>;
}

/** A task, and the lane that it is sent to. */
interface SentTask {
  readonly lane: string;
  readonly task: CellTask;
}

/**
 * Returns the task that has an answer graded; undefined for one that waits for no judge. To be sent once the answer is
 * stored and before its own task is acknowledged; a second task for the same grade does no harm.
 */
export function gradeTaskOf({
  key: { run, id },
  question,
  config: { gradedBy },
  result,
}: CompletedAnswer): SentTask | undefined {
  if (result.reason !== AWAITING_JUDGE || gradedBy === undefined) return undefined;
  const { lane, name: config } = gradedBy;
  return { lane, task: { v: 1, run, id, config, question, generation: 0 } };
}
