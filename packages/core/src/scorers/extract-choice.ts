import { choiceLetter } from '../spec/render-prompt.ts';

/** Emphasis may stand anywhere in it: `**Answer:** B`, `Answer: **(B)**`. */
const DECLARATION =
  /(?:answer|option|choice)\b(?:[\s*]+is\b)?(?:[\s*]*[:=])?[\s*]*\(?([A-Z])\)?(?![\p{L}\p{N}'’])/giu;
const LONE = /^\W*\(?([A-Z])\)?[).:*\s]*$/iu;
const PARENTHESISED = /\(([A-Z])\)/gu;
/** Characters after a choice's text that are not part of it. */
const END_MARKS = '.*"\'`';
/** Lines at the end in which a letter without a declaration still counts as the answer. */
const TAIL_LINES = 5;

/**
 * The letter a text settles on, upper case.
 *
 * The last declaration anywhere wins ("Answer: B", "the answer is (B)", "option B"); else the last
 * line, within the last five, that is nothing but a letter; else the last parenthesised letter there;
 * else a choice whose whole text the answer repeats. A letter of no choice is passed over ("the option
 * I prefer").
 *
 * @param choices - The choices' texts; with none every letter is taken.
 * @returns Undefined when no letter of a choice can be read.
 */
export function extractChoice(text: string, choices: readonly string[]): string | undefined {
  const tail = text.trim().split('\n').slice(-TAIL_LINES);
  const lastOffered = (found: readonly (string | undefined)[]) =>
    found.map((letter) => letter?.toUpperCase()).findLast((letter) => isOffered(letter, choices));
  return (
    lastOffered([...text.matchAll(DECLARATION)].map(([, letter]) => letter)) ??
    lastOffered(tail.map((line) => LONE.exec(line)?.[1])) ??
    lastOffered([...tail.join('\n').matchAll(PARENTHESISED)].map(([, letter]) => letter)) ??
    choiceByText(text, choices)
  );
}

/**
 * The letter that a target means, read strictly: it is nothing but a letter of a choice, or a
 * choice's text.
 *
 * @param choices - The choices' texts; with none every letter is taken.
 * @returns Undefined for anything else.
 */
export function readTargetChoice(target: string, choices: readonly string[]): string | undefined {
  const letter = LONE.exec(target)?.[1]?.toUpperCase();
  if (letter !== undefined && isOffered(letter, choices)) return letter;
  const index = choices.findIndex((choice) => plain(choice) === plain(target));
  return index === -1 ? undefined : choiceLetter(index);
}

function isOffered(letter: string | undefined, choices: readonly string[]): boolean {
  if (letter === undefined) return false;
  return choices.length === 0 || letter.charCodeAt(0) - 65 < choices.length;
}

function choiceByText(text: string, choices: readonly string[]): string | undefined {
  const said = plain(text.split(/answer(?:\s+is)?\s*:?/i).at(-1) ?? '');
  const index = choices.findIndex((choice) => plain(choice) === said);
  return index === -1 ? undefined : choiceLetter(index);
}

/** Without the marks at its ends. A loop, because `[.*]+$` takes the square of a long run of dots. */
function plain(text: string): string {
  const trimmed = text.trim();
  let end = trimmed.length;
  while (end > 0 && END_MARKS.includes(trimmed.charAt(end - 1))) end -= 1;
  return trimmed
    .slice(0, end)
    .replace(/^["'`*]+/, '')
    .replace(/\s+/g, ' ')
    .toLowerCase();
}
