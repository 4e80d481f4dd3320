import * as z from 'zod';
import type { Scorer } from '../domain/scorer.ts';
import { describeEmptyTarget } from './describe-empty-target.ts';

const parameters = z.strictObject({
  /** A JavaScript pattern. Its first group is the answer; without a group, the whole match is. */
  pattern: z.string().min(1).refine(isPattern, { error: 'expected a valid regular expression' }),
});

/** Correct if the first match of a pattern equals the trimmed target. */
export const regex: Scorer<typeof parameters> = {
  kind: 'regex',
  version: 2,
  parameters,
  needsTable: true,
  answerNoun: 'match',
  read: (_text, _question, { pattern }) => ({ source: pattern, flags: 'u' }),
  matches: (answer, target) => answer === target.trim(),
  describeExpectedTarget: (target) => describeEmptyTarget(target),
};

function isPattern(source: string): boolean {
  try {
    new RegExp(source, 'u');
    return true;
  } catch {
    return false;
  }
}
