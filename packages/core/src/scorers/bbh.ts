import * as z from 'zod';
import type { TextScorer } from '../domain/scorer.ts';

const ANSWER_MARK = 'the answer is ';
const parameters = z.strictObject({});

/** BIG-Bench Hard's own rule: the answer that {@link extractBbhAnswer} reads equals the target. */
export const bbh: TextScorer<typeof parameters> = {
  kind: 'bbh',
  reads: 'text',
  version: 3,
  parameters,
  needsTable: false,
  answerNoun: 'answer',
  read: ({ text }) => extractBbhAnswer(text),
  // Not trimmed: the published accuracies compare the target as it is.
  matches: (answer, target) => answer === target,
  describeExpectedTarget: () => undefined,
};

/**
 * Reads an answer as BIG-Bench Hard does: the text after the last `the answer is `, or the whole text
 * without one; trimmed, with one trailing period removed.
 *
 * Reproduces all 54 published accuracies of the recorded outputs exactly. Always dropping the last
 * character does not, nor does keeping the period.
 *
 * @see Suzgun et al. (2022), arXiv:2210.09261
 */
export function extractBbhAnswer(text: string): string {
  const markIndex = text.lastIndexOf(ANSWER_MARK);
  const tail = (markIndex === -1 ? text : text.slice(markIndex + ANSWER_MARK.length)).trim();
  return tail.endsWith('.') ? tail.slice(0, -1) : tail;
}
