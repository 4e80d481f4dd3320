import * as z from 'zod';
import type { Scorer } from '../domain/scorer.ts';
import { describeEmptyTarget } from './describe-empty-target.ts';
import { extractNumber, isOnlyNumber, parseNumber } from './extract-number.ts';

const parameters = z.strictObject({
  /** The largest absolute difference that still counts as equal. */
  tolerance: z.number().min(0).default(0),
});

/** Correct if the last number in the text is within a tolerance of the target. */
export const numeric: Scorer<typeof parameters> = {
  kind: 'numeric',
  version: 2,
  parameters,
  needsTable: false,
  answerNoun: 'number',
  read: ({ text }) => extractNumber(text),
  matches: (answer, target, _, { tolerance }) => {
    const [actual, expected] = [parseNumber(answer), parseNumber(target)];
    if (actual === undefined || expected === undefined) return false;
    return Math.abs(actual - expected) <= tolerance;
  },
  describeExpectedTarget: (target) => describeEmptyTarget(target) ?? describeNumber(target),
};

/** A target must be a number and nothing else, so that no part of it is taken for another number. */
function describeNumber(target: string): string | undefined {
  return isOnlyNumber(target) ? undefined : 'one number and nothing else';
}
