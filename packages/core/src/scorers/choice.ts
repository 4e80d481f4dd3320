import * as z from 'zod';
import { choiceLetter } from '../domain/choices.ts';
import type { TextScorer } from '../domain/scorer.ts';
import { isOffered, readChoice } from './choice/read-choice.ts';
import { findChoices } from './choice/read-choice-text.ts';
import { describeEmptyTarget } from './describe-empty-target.ts';
import { readSparkitAnswer } from './sparkit/read-sparkit-answer.ts';
import { readSparkitChoice } from './sparkit/read-sparkit-choice.ts';
import { sparkitParserShape } from './sparkit/sparkit-parser.ts';

const ONLY_LETTER = /^[\s*"'([]{0,9}([A-Z])[\s).:*"'\]]{0,9}$/iu;

const parameters = z.strictObject(sparkitParserShape);

/**
 * Correct if the choice that the text settles on is the target's, given as a letter or as its text. With
 * `parser = "sparkit"`, as SPARKIT's strict rubric reads and compares it.
 */
export const choice: TextScorer<typeof parameters> = {
  kind: 'choice',
  reads: 'text',
  version: 7,
  parameters,
  needsTable: false,
  answerNoun: 'choice',
  read: (answer, { choices }, { parser }) =>
    parser === 'sparkit'
      ? readSparkitChoice(readSparkitAnswer(answer.text).text)
      : readChoice(answer, choices ?? []),
  matches: (answer, target, { choices }, { parser }) =>
    answer === (parser === 'sparkit' ? sparkitTarget(target) : readTarget(target, choices ?? [])),
  describeExpectedTarget: (target, { choices }, { parser }) =>
    describeEmptyTarget(target) ??
    (parser === 'sparkit' ? undefined : describeChoice(target, choices ?? [])),
};

/** Whatever the target begins with. */
function sparkitTarget(target: string): string {
  return target.trim().toUpperCase().charAt(0);
}

/** Returns the letter of a target that is only the letter of a choice, or only the text of one. */
function readTarget(target: string, choices: readonly string[]): string | undefined {
  const letter = ONLY_LETTER.exec(target)?.[1]?.toUpperCase();
  return letter !== undefined && isOffered(letter, choices)
    ? letter
    : findChoices(target, choices)[0];
}

function describeChoice(target: string, choices: readonly string[]): string | undefined {
  const letter = readTarget(target, choices);
  // A choice's own text may look like a letter ("option B"), so that as an answer it is another choice.
  const isRead =
    letter !== undefined && letter === readChoice({ text: target, isCutOff: false }, choices);
  if (isRead) return undefined;
  if (choices.length === 0) return 'a single letter';
  const letters =
    choices.length === 1 ? 'the letter A' : `a letter of A to ${choiceLetter(choices.length - 1)}`;
  const isIndex = /^\d{1,2}$/.test(target) && Number(target) <= choices.length;
  return `${letters} or a choice's text${isIndex ? ', not an index: A is the first choice' : ''}`;
}
