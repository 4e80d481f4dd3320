import { choiceLetter } from '../../domain/choices.ts';
import type { ChoiceReading } from './reading.ts';

/** The longest line that is searched for the text of a choice. */
const LINE_CHARS = 300;
const END_MARKS = /^[\s"'“”‘’«»「」()[\]{}.,;:!*]$/u;
const DENIAL =
  /(?<!\p{L})(?:not|no|never|neither|nor|cannot|rather than|instead of|wrong|incorrect|except|unlike|nicht|kein|pas|non|não|не|нет)(?!\p{L})|n['’]t(?!\p{L})|不|ない|아니/iu;

/**
 * Returns the letter of the choice whose text this is, ignoring case, white space, marks at the ends and the sign of
 * a currency. Of two choices with one text it is neither: only a letter tells them apart.
 */
export function findChoice(text: string, choices: readonly string[]): string | undefined {
  const [letter, another] = findChoices(text, choices);
  return another === undefined ? letter : undefined;
}

/** Returns the letters of all choices whose text this is. */
export function findChoices(text: string, choices: readonly string[]): readonly string[] {
  const wanted = normalize(text);
  if (wanted === '') return [];
  return choices.flatMap((choice, index) =>
    normalize(choice) === wanted ? [choiceLetter(index)] : [],
  );
}

/** How many characters of a text are compared with the choices. */
const LEADING_CHARS = 2000;
const OPENING = /^[\s"'“”‘’«「([{]{0,9}(?:the\s)?/iu;
/** What follows a choice that is complete, not the beginning of another phrase. */
const COMPLETE =
  /^["'”’»」)\]}]{0,3}\s?(?:$|[.,](?!\d)|[;:!\n(–—]|(?:because|since|as|which|due|and not|not)(?!\p{L}))/u;

/** Finds the longest choice with whose text another text goes on at an index. A single character is a letter. */
export function findLeadingChoice(
  text: string,
  index: number,
  choices: readonly string[],
): { readonly letter: string; readonly end: number } | undefined {
  const window = text.slice(index, index + LEADING_CHARS);
  const opening = OPENING.exec(window)?.[0] ?? '';
  const payload = window.slice(opening.length);
  const found = choices
    .map((choice, at) => ({ words: trimMarks(choice), letter: choiceLetter(at) }))
    .filter(({ words }) => words.length > 1 && startsWith(payload, words))
    .sort((one, other) => other.words.length - one.words.length)
    .at(0);
  if (found === undefined || findChoices(found.words, choices).length > 1) return undefined;
  return { letter: found.letter, end: index + opening.length + found.words.length };
}

function startsWith(payload: string, words: string): boolean {
  const start = payload.slice(0, words.length);
  return normalize(start) === normalize(words) && COMPLETE.test(payload.slice(words.length));
}

/** Returns the letter of the only choice whose text a line of prose contains, unless the line denies something. */
export function findMentionedChoice(
  line: string,
  choices: readonly string[],
): ChoiceReading | undefined {
  if (line.length > LINE_CHARS) return undefined;
  const prose = normalize(line);
  const mentioned = choices
    .map((choice, index) => ({ words: normalize(choice), letter: choiceLetter(index) }))
    .filter(({ words }) => containsWords(prose, words));
  // "green tea" also contains "green": the longer choice is meant.
  const meant = mentioned.filter(
    ({ words }) => !mentioned.some((other) => other.words !== words && other.words.includes(words)),
  );
  const [only, another] = meant;
  if (only === undefined || another !== undefined) return undefined;
  return DENIAL.test(prose.replace(only.words, '')) ? undefined : { letter: only.letter };
}

function containsWords(prose: string, words: string): boolean {
  // A letter or a sign is found everywhere.
  if (words.length < 2 && !/\d/u.test(words)) return false;
  const index = prose.indexOf(words);
  if (index === -1) return false;
  const before = prose.slice(Math.max(0, index - 2), index);
  const after = prose.slice(index + words.length, index + words.length + 2);
  return !/[\p{L}\p{N}]$|\d[.,]$/u.test(before) && !/^(?:[\p{L}\p{N}]|[.,]\d)/u.test(after);
}

/** Trims in a loop: a pattern such as `[.*]+$` takes quadratic time on a long run of periods. */
function trimMarks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && END_MARKS.test(text.charAt(start))) start += 1;
  while (end > start && END_MARKS.test(text.charAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function normalize(text: string): string {
  return trimMarks(text)
    .normalize('NFKC')
    .replace(/[‐‑‒–—−]/gu, '-')
    .replace(/\s+/gu, ' ')
    .toLowerCase()
    .replace(/^\p{Sc}\s?(?=\d)/u, '');
}
