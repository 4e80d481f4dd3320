import * as z from 'zod';
import type { TextScorer } from '../domain/scorer.ts';

const parameters = z.strictObject({});

/** Correct if the whole text equals the target, both trimmed. */
export const exact: TextScorer<typeof parameters> = {
  kind: 'exact',
  reads: 'text',
  version: 3,
  parameters,
  needsTable: false,
  answerNoun: 'answer',
  read: ({ text }) => text.trim(),
  matches: (answer, target) => answer === target.trim(),
  // Even an empty target is usable: an empty answer matches it.
  describeExpectedTarget: () => undefined,
};
