import * as z from 'zod';
import type { TextScorer } from '../domain/scorer.ts';
import { describeEmptyTarget } from './describe-empty-target.ts';

const parameters = z.strictObject({
  /** Whether the target must be words of their own: "art" is not found in "party". */
  word: z.boolean().default(false),
});

/** Correct if the text contains the target, ignoring case. */
export const includes: TextScorer<typeof parameters> = {
  kind: 'includes',
  reads: 'text',
  version: 3,
  parameters,
  needsTable: false,
  answerNoun: 'answer',
  read: ({ text }) => text.trim(),
  matches: (answer, target, _, { word }) => {
    const [text, wanted] = [answer.toLowerCase(), target.trim().toLowerCase()];
    return word ? includesWords(text, wanted) : text.includes(wanted);
  },
  describeExpectedTarget: (target) => describeEmptyTarget(target),
};

/** What a word consists of, in any script. */
const ENDS_IN_WORD = /[\p{L}\p{M}\p{N}_]$/u;
const STARTS_WITH_WORD = /^[\p{L}\p{M}\p{N}_]/u;

/** Whether a text contains words that are not a part of longer ones. Signs need no boundary: "$5" in "US$5". */
function includesWords(text: string, words: string): boolean {
  const needsStart = STARTS_WITH_WORD.test(words);
  const needsEnd = ENDS_IN_WORD.test(words);
  let index = text.indexOf(words);
  while (index !== -1) {
    const end = index + words.length;
    // Two code units, for characters beyond the first 65,536.
    const isStart = !needsStart || !ENDS_IN_WORD.test(text.slice(Math.max(0, index - 2), index));
    const isEnd = !needsEnd || !STARTS_WITH_WORD.test(text.slice(end, end + 2));
    if (isStart && isEnd) return true;
    index = text.indexOf(words, index + 1);
  }
  return false;
}
