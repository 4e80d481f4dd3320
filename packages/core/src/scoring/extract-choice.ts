import { choiceLetter } from '../planning/render-prompt.ts';

const DECLARATION =
  /(?:answer|option|choice)(?:\s+is)?\s*[:=]?\s*(?:\*\*)?\(?([A-Z])\)?(?![\p{L}\p{N}'’])/giu;
const LONE = /^\W*\(?([A-Z])\)?[).:*\s]*$/iu;
const PARENTHESISED = /\(([A-Z])\)/gu;
/** Lines at the end in which a letter without a declaration still counts as the answer. */
const TAIL_LINES = 5;

/**
 * The letter a text settles on, upper case.
 *
 * The last declaration anywhere wins ("Answer: B", "the answer is (B)", "option B"); else the last
 * line, within the last five, that is nothing but a letter; else the last parenthesised letter there;
 * else a choice whose whole text the answer repeats.
 *
 * @param choices - The choices' texts; with none every letter is taken.
 * @returns Undefined when no letter of a choice can be read.
 */
export function extractChoice(text: string, choices: readonly string[]): string | undefined {
  const tail = text.trim().split('\n').slice(-TAIL_LINES);
  const candidates = [
    [...text.matchAll(DECLARATION)].at(-1)?.[1],
    tail.map((line) => LONE.exec(line)?.[1]).findLast((letter) => letter !== undefined),
    [...tail.join('\n').matchAll(PARENTHESISED)].at(-1)?.[1],
  ];
  const isOffered = (letter: string) =>
    choices.length === 0 || letter.charCodeAt(0) - 65 < choices.length;
  const letter = candidates
    .map((found) => found?.toUpperCase())
    .find((found) => found !== undefined && isOffered(found));
  return letter ?? choiceByText(text, choices);
}

function choiceByText(text: string, choices: readonly string[]): string | undefined {
  const said = plain(text.split(/answer(?:\s+is)?\s*:?/i).at(-1) ?? '');
  const index = choices.findIndex((choice) => plain(choice) === said);
  return index === -1 ? undefined : choiceLetter(index);
}

function plain(text: string): string {
  return text
    .trim()
    .replace(/[.*"'`]+$|^["'`*]+/g, '')
    .replace(/\s+/g, ' ')
    .toLowerCase();
}
