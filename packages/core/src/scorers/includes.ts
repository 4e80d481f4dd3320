import * as z from 'zod';
import type { Scorer } from '../domain/scorer.ts';
import { describeEmptyTarget } from './describe-empty-target.ts';

const parameters = z.strictObject({});

/** Correct if the text contains the target, ignoring case. */
export const includes: Scorer<typeof parameters> = {
  kind: 'includes',
  version: 2,
  parameters,
  needsTable: false,
  answerNoun: 'answer',
  read: ({ text }) => text.trim(),
  matches: (answer, target) => answer.toLowerCase().includes(target.trim().toLowerCase()),
  describeExpectedTarget: (target) => describeEmptyTarget(target),
};
