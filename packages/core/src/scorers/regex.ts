import * as z from 'zod';
import type { TextScorer } from '../domain/scorer.ts';
import { describeEmptyTarget } from './describe-empty-target.ts';

const parameters = z.strictObject({
  /**
   * A JavaScript pattern. Its group named `answer` is the answer, or else its first group; without a group, the
   * whole match is.
   */
  pattern: z.string().min(1).refine(isPattern, { error: 'expected a valid regular expression' }),
  /** Which match counts. */
  match: z.enum(['first', 'last']).default('first'),
});

/** Correct if what a pattern finds equals the target, both trimmed. */
export const regex: TextScorer<typeof parameters> = {
  kind: 'regex',
  reads: 'text',
  version: 3,
  parameters,
  needsTable: true,
  answerNoun: 'match',
  read: (_answer, _question, { pattern, match }) => ({ source: pattern, flags: 'u', match }),
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
