import type { Benchmark, Config } from '../domain/benchmark.ts';
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
 * Whether the task of an answer may have the targets from before they were corrected. Its answer is as good as any, but
 * graded by the next reader, and judged once the edit has sent another task for it.
 */
export function isOutdated(
  { question, config }: Pick<CompletedAnswer, 'question' | 'config'>,
  { questionsKey }: Pick<Benchmark, 'questionsKey'>,
): boolean {
  return config.targetsKey !== undefined && question.key !== questionsKey;
}

/**
 * Returns the task that has an answer graded; undefined for one that waits for no judge, or is outdated. To be sent
 * once the answer is stored and before its own task is acknowledged; a second task for the same grade does no harm.
 */
export function gradeTaskOf(
  answer: CompletedAnswer,
  benchmark: Pick<Benchmark, 'questionsKey'>,
): SentTask | undefined {
  const {
    key: { run, id },
    question,
    config: { gradedBy },
    result,
  } = answer;
  if (result.reason !== AWAITING_JUDGE || gradedBy === undefined) return undefined;
  if (isOutdated(answer, benchmark)) return undefined;
  const { lane, name: config } = gradedBy;
  return { lane, task: { v: 1, run, id, config, question, generation: 0 } };
}
