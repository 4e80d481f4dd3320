import { choiceLetter } from '../domain/choices.ts';

/** Emphasis may appear anywhere in it: `**Answer:** B`, `Answer: **(B)**`. */
const DECLARATION =
  /(?:answer|option|choice)\b(?:[\s*]+is\b)?(?:[\s*]*[:=])?[\s*]*\(?([A-Z])\)?(?![\p{L}\p{N}'’])/giu;
const ONLY_LETTER = /^\W*\(?([A-Z])\)?[).:*\s]*$/iu;
const PARENTHESIZED = /\(([A-Z])\)/gu;
/** Characters after a choice's text that are not part of it. */
const END_MARKS = '.*"\'`';
/** How many lines at the end may hold a letter that counts without a declaration. */
const TAIL_LINES = 5;

/**
 * Returns the letter that a text settles on, in upper case.
 *
 * The last declaration anywhere wins: "Answer: B", "the answer is (B)", "option B". Failing that, the
 * last of the final five lines that is only a letter; then the last parenthesized letter in those
 * lines; then the choice whose full text the answer repeats. Letters beyond the choices are skipped
 * ("the option I prefer").
 *
 * @param choices - The texts of the choices; if empty, any letter counts.
 * @returns Undefined for a text that settles on no choice.
 */
export function extractChoice(text: string, choices: readonly string[]): string | undefined {
  const tail = text.trim().split('\n').slice(-TAIL_LINES);
  const lastOffered = (letters: readonly (string | undefined)[]) =>
    letters.map((letter) => letter?.toUpperCase()).findLast((letter) => isOffered(letter, choices));
  return (
    lastOffered([...text.matchAll(DECLARATION)].map(([, letter]) => letter)) ??
    lastOffered(tail.map((line) => ONLY_LETTER.exec(line)?.[1])) ??
    lastOffered([...tail.join('\n').matchAll(PARENTHESIZED)].map(([, letter]) => letter)) ??
    findRepeatedChoice(text, choices)
  );
}

/**
 * Returns the letter that a target means. Strict: the target is only the letter of a choice, or only
 * the text of one.
 *
 * @param choices - The texts of the choices; if empty, any letter counts.
 * @returns Undefined for any other target.
 */
export function readTargetChoice(target: string, choices: readonly string[]): string | undefined {
  const letter = ONLY_LETTER.exec(target)?.[1]?.toUpperCase();
  if (letter !== undefined && isOffered(letter, choices)) return letter;
  return findChoice(target, choices);
}

function isOffered(letter: string | undefined, choices: readonly string[]): boolean {
  if (letter === undefined) return false;
  return choices.length === 0 || letter.charCodeAt(0) - 65 < choices.length;
}

function findRepeatedChoice(text: string, choices: readonly string[]): string | undefined {
  return findChoice(text.split(/answer(?:\s+is)?\s*:?/i).at(-1) ?? '', choices);
}

/** The letter of the choice with this text, ignoring case, white space and marks at the ends. */
function findChoice(text: string, choices: readonly string[]): string | undefined {
  const wanted = normalize(text);
  const index = choices.findIndex((choice) => normalize(choice) === wanted);
  return index === -1 ? undefined : choiceLetter(index);
}

/** Trims end marks in a loop: the pattern `[.*]+$` takes quadratic time on a long run of periods. */
function normalize(text: string): string {
  const trimmed = text.trim();
  let end = trimmed.length;
  while (end > 0 && END_MARKS.includes(trimmed.charAt(end - 1))) end -= 1;
  return trimmed
    .slice(0, end)
    .replace(/^["'`*]+/, '')
    .replace(/\s+/g, ' ')
    .toLowerCase();
}
