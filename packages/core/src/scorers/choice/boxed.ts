import { lastMatches } from '../last-matches.ts';
import { findChoice } from './read-choice-text.ts';
import { readLetter } from './read-letter.ts';
import type { PlacedReading } from './reading.ts';

const BOX = /\\f?box(?:ed)?\s?\{/gu;
/** Boxes looked at, from the end of the text. */
const MAX_BOXES = 50;
const BOX_CHARS = 2000;

/** Finds the last `\boxed{}` that holds a letter or the text of a choice; others hold formulas. */
export function findBoxed(text: string, choices: readonly string[]): PlacedReading | undefined {
  const boxes = lastMatches(text, BOX, MAX_BOXES).reverse();
  for (const { 0: opening, index } of boxes) {
    const content = readBraces(text.slice(index + opening.length).slice(0, BOX_CHARS));
    const letter = findChoice(content, choices);
    const reading = letter === undefined ? readContent(content) : { letter };
    if (reading !== undefined) return { letter: reading.letter, index };
  }
  return undefined;
}

/** A letter alone, or as the label of more: `B`, `(B) 25\%`, `E: a score`, `Answer: G`. */
function readContent(content: string): { readonly letter: string | null } | undefined {
  const reading = readLetter(content.replace(/^\s*(?:final )?answer\s*:?/iu, ''));
  if (reading === undefined) return undefined;
  return /^\s*(?:$|[.):,\-–—/&]|and |or |[(])/u.test(content.slice(reading.end)) ||
    reading.letter === null ||
    /^\s*[([{]/u.test(content)
    ? reading
    : undefined;
}

/** The content up to the brace that closes the box, or the whole text if none does. */
function readBraces(text: string): string {
  let depth = 1;
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (character === '{') depth += 1;
    if (character === '}') depth -= 1;
    if (depth === 0) return text.slice(0, index);
  }
  return text;
}
