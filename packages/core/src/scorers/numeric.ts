import * as z from 'zod';
import type { TextScorer } from '../domain/scorer.ts';
import { describeEmptyTarget } from './describe-empty-target.ts';
import { extractNumber, parseQuantity } from './numeric/extract-number.ts';
import { isWithin } from './numeric/quantity.ts';

const parameters = z.strictObject({
  /** The largest absolute difference that still counts as equal. */
  tolerance: z.number().min(0).default(0),
  /** The largest difference in proportion to the larger number that still counts as equal; 0.01 is 1%. */
  relative_tolerance: z.number().min(0).default(0),
});

/**
 * Correct if the number that the text gives as its answer is the target, within either tolerance.
 *
 * Numbers are compared exactly, as decimals or fractions, however large. A percentage equals its number with or
 * without the sign and its value: 50% matches the targets 50 and 0.5, but 50 does not match 0.5.
 */
export const numeric: TextScorer<typeof parameters> = {
  kind: 'numeric',
  reads: 'text',
  version: 7,
  parameters,
  needsTable: false,
  answerNoun: 'number',
  read: (answer) => extractNumber(answer),
  matches: (answer, target, _, { tolerance, relative_tolerance: relative }) => {
    const [actual, expected] = [parseQuantity(answer), parseQuantity(target)];
    if (actual === undefined || expected === undefined) return false;
    return isWithin(actual, expected, { absolute: tolerance, relative });
  },
  describeExpectedTarget: (target) => describeEmptyTarget(target) ?? describeNumber(target),
};

/** A target must be a number and nothing else, so that no part of it is taken for another number. */
function describeNumber(target: string): string | undefined {
  return parseQuantity(target) === undefined ? 'one number and nothing else' : undefined;
}
