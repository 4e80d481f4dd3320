import type { Random } from '@thrice/core';
import { pickItem } from './draw.ts';
import type { SimulatedQuestion } from './simulated-question.ts';

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const opposites = new Map([
  ['yes', 'no'],
  ['no', 'yes'],
  ['true', 'false'],
  ['false', 'true'],
  ['valid', 'invalid'],
  ['invalid', 'valid'],
]);
const wrongWords = ['copper', 'Lisbon', 'a sonnet', 'the moon', 'Euler', 'sodium', 'osmosis'];

/**
 * Composes the result a model gives for a question.
 *
 * @param isRight - If false, the result is a plausible mistake: another letter, a slightly different
 *   number, the opposite word, or another word, but never one of the targets.
 * @returns `undefined` if the question has no target.
 */
export function composeResult(
  question: SimulatedQuestion,
  isRight: boolean,
  random: Random,
): string | undefined {
  const targets = typeof question.target === 'string' ? [question.target] : (question.target ?? []);
  const [target] = targets;
  if (target === undefined) return undefined;
  const choices = question.choices ?? [];
  if (choices.length > 0) {
    const right = targets.map((text) => choiceIndex(text, choices)).filter((index) => index >= 0);
    if (isRight && right.length === 0) return target;
    return chooseLetter({ right, choiceCount: choices.length, isRight, random });
  }
  if (isRight) return target;
  return wrongResult({ target, targets, questionText: question.question, random });
}

/** Finds the choice that a target names by text or by letter: `B`, `(B)`, `B.` */
function choiceIndex(target: string, choices: readonly string[]): number {
  const byText = choices.indexOf(target);
  if (byText >= 0) return byText;
  const letter = readLetter(target);
  const index = letter === undefined ? -1 : letters.indexOf(letter);
  return index < choices.length ? index : -1;
}

function readLetter(text: string): string | undefined {
  return /^\(?([A-Z])\)?\.?$/.exec(text.trim())?.[1];
}

function chooseLetter(input: {
  readonly right: readonly number[];
  readonly choiceCount: number;
  readonly isRight: boolean;
  readonly random: Random;
}): string | undefined {
  const { right, choiceCount, isRight, random } = input;
  const all = Array.from({ length: Math.min(choiceCount, letters.length) }, (_, index) => index);
  const index = isRight
    ? right[0]
    : pickItem(
        random,
        all.filter((other) => !right.includes(other)),
      );
  return index === undefined ? undefined : `(${letters[index] ?? '?'})`;
}

function wrongResult(input: {
  readonly target: string;
  readonly targets: readonly string[];
  readonly questionText: string;
  readonly random: Random;
}): string {
  const { target, targets, questionText, random } = input;
  const letter = readLetter(target);
  if (letter !== undefined) return wrongLetter({ target, letter, questionText, random });
  const number = /^-?\d[\d,]*(\.\d+)?$/.exec(target.trim());
  if (number !== null) return wrongNumber(target, targets, random);
  const opposite = opposites.get(target.toLowerCase());
  if (opposite !== undefined) return matchCase(opposite, target);
  const accepted = new Set(targets.map((text) => text.toLowerCase()));
  const words = wrongWords.filter((word) => !accepted.has(word.toLowerCase()));
  return pickItem(random, words) ?? `not ${target}`;
}

/** Picks another letter that the question's text offers, formatted like the target. */
function wrongLetter(input: {
  readonly target: string;
  readonly letter: string;
  readonly questionText: string;
  readonly random: Random;
}): string {
  const { target, letter, questionText, random } = input;
  const offered = [...letters].filter((other) => questionText.includes(`(${other})`));
  const options = (offered.length > 1 ? offered : [...'ABCDE']).filter((other) => other !== letter);
  return target.replace(letter, pickItem(random, options) ?? letter);
}

/** Returns a number that differs by up to 10 % (or by up to 3 in the last digit), with equal decimals. */
function wrongNumber(target: string, targets: readonly string[], random: Random): string {
  const decimals = target.trim().split('.')[1]?.length ?? 0;
  const unit = 10 ** -decimals;
  const value = Number(target.replaceAll(',', ''));
  const maxSteps = Math.max(3, Math.floor(Math.abs(value) / 10 / unit));
  const sign = random() < 0.5 ? -1 : 1;
  let steps = 1 + Math.floor(random() * maxSteps);
  let wrong = (value + sign * steps * unit).toFixed(decimals);
  while (targets.some((text) => Number(text.replaceAll(',', '')) === Number(wrong))) {
    steps += 1;
    wrong = (value + sign * steps * unit).toFixed(decimals);
  }
  return wrong;
}

function matchCase(word: string, target: string): string {
  const first = target.charAt(0);
  if (target.length > 1 && target === target.toUpperCase()) return word.toUpperCase();
  const isCapital = first !== first.toLowerCase();
  return isCapital ? word.charAt(0).toUpperCase() + word.slice(1) : word;
}
