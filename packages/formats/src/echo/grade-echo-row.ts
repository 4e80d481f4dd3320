import type { CellError, Grade } from '@thrice/core';
import type { UngradedRow } from '../result-format.ts';
import { type EchoRow, parseTask } from './echo-row.ts';

/** How Echo says that the choice in an answer is not the target. */
const OTHER_ANSWER = /^expected (?<target>\S+) got (?<answer>\S+)$/;

/**
 * Grades a row by its calls and its detail alone.
 *
 * A row whose calls threw has no grade, and neither has one whose scorer threw. No other text decides anything:
 * `SyntaxError: ...` and `timeout (>10s)` are wrong answers of generated code.
 *
 * @param error - What the text of a row whose calls threw was classified as.
 */
export function gradeEchoRow(row: EchoRow, error: CellError | null): Grade | UngradedRow {
  if (row.sub_calls === 0) {
    const outcome = error?.class === 'exhausted' ? 'not-attempted' : 'failed';
    return { outcome, score: null, answer: null, reason: error?.code ?? null };
  }
  if (row.detail.startsWith('scorer ')) {
    return { outcome: 'ungraded', score: null, answer: null, reason: 'scorer-failed' };
  }
  if (row.detail === 'unparseable') {
    return { outcome: 'unparsed', score: 0, answer: null, reason: 'unparseable' };
  }
  const answer = readOtherAnswer(row)?.answer ?? null;
  return { outcome: 'scored', score: row.passed ? 1 : 0, answer, reason: null };
}

/** Reads the target and the wrong answer that a row names; undefined if it names none. */
export function readOtherAnswer({
  task_id: id,
  detail,
}: Pick<EchoRow, 'task_id' | 'detail'>):
  | { readonly target: string; readonly answer: string }
  | undefined {
  // The last line of a test runner may begin alike.
  if (parseTask(id)?.subtask === undefined) return undefined;
  const { target, answer } = OTHER_ANSWER.exec(detail)?.groups ?? {};
  return target === undefined || answer === undefined ? undefined : { target, answer };
}
