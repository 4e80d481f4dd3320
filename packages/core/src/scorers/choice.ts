import * as z from 'zod';
import { choiceLetter } from '../domain/choices.ts';
import type { Scorer } from '../domain/scorer.ts';
import { describeEmptyTarget } from './describe-empty-target.ts';
import { extractChoice, readTargetChoice } from './extract-choice.ts';

const parameters = z.strictObject({});

/** Correct if the choice that the text settles on is the target's, given as a letter or as its text. */
export const choice: Scorer<typeof parameters> = {
  kind: 'choice',
  version: 2,
  parameters,
  needsTable: false,
  answerNoun: 'choice',
  read: ({ text }, { choices }) => extractChoice(text, choices ?? []),
  matches: (answer, target, { choices }) =>
    answer === (extractChoice(target, choices ?? []) ?? target.trim()),
  describeExpectedTarget: (target, { choices }) =>
    describeEmptyTarget(target) ?? describeChoice(target, choices ?? []),
};

function describeChoice(target: string, choices: readonly string[]): string | undefined {
  const letter = readTargetChoice(target, choices);
  // A choice's own text may look like a letter ("option B"); then `matches` reads another choice.
  if (letter !== undefined && letter === extractChoice(target, choices)) return undefined;
  if (choices.length === 0) return 'a single letter';
  const letters =
    choices.length === 1 ? 'the letter A' : `a letter of A to ${choiceLetter(choices.length - 1)}`;
  return `${letters} or a choice's text`;
}
