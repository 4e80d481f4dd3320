import type { ScorerSpec } from '../domain/benchmark-spec.ts';
import type { Question } from '../domain/question.ts';
import { choiceLetter } from '../spec/render-prompt.ts';
import { extractChoice, readTargetChoice } from './extract-choice.ts';
import { isLoneNumber } from './extract-number.ts';

/**
 * What a scorer needs in an accepted answer, where this one can never be matched or always is.
 *
 * An empty text is included in every answer; only scorers that compare whole texts can mean it. A
 * number or a letter must be all that a target says, so that nothing in it is read as another.
 *
 * @returns Undefined where the target serves.
 */
export function describeExpectedTarget(
  scorer: ScorerSpec,
  target: string,
  question: Question,
): string | undefined {
  if (scorer.kind === 'exact' || scorer.kind === 'bbh') return undefined;
  if (target.trim() === '') return 'a text, not an empty one';
  if (scorer.kind === 'numeric') {
    return isLoneNumber(target) ? undefined : 'one number and nothing else';
  }
  return scorer.kind === 'choice' ? expectedChoice(target, question.choices ?? []) : undefined;
}

function expectedChoice(target: string, choices: readonly string[]): string | undefined {
  const letter = readTargetChoice(target, choices);
  // A choice's text may itself look like a letter ("option B"): then the scorer reads another one.
  if (letter !== undefined && letter === extractChoice(target, choices)) return undefined;
  if (choices.length === 0) return 'a single letter';
  const letters =
    choices.length === 1 ? 'the letter A' : `a letter of A to ${choiceLetter(choices.length - 1)}`;
  return `${letters} or a choice's text`;
}
