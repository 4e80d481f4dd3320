import { trimWhere } from '../trim-where.ts';

/** A citation by number, as in `[3]`, `[1, 2]` or `[4-6]`. */
const NUMBERED = /\[(\d{1,3}(?:[,;–-] ?\d{1,3}){0,20})\]/gu;
/** A page or a DOI. */
const ADDRESS = /https?:\/\/[^\s<>()[\]{}"'|]+|(?<![\w/.])10\.\d{4,9}\/[^\s<>()[\]{}"'|,;]+/gu;
/** Ends a sentence, not an address. */
const PUNCTUATION = '.,;:!?*_';

/**
 * Counts the sources that a text cites: different numbers in square brackets, or different pages and DOIs, whichever are more. A
 * list of numbered pages names each source in both ways.
 */
export function countCitations(text: string): number {
  const numbers = [...text.matchAll(NUMBERED)].flatMap(([, cited = '']) => numbersIn(cited));
  const addresses = [...text.matchAll(ADDRESS)].map(([address]) =>
    trimWhere(address, (character) => PUNCTUATION.includes(character)).toLowerCase(),
  );
  return Math.max(new Set(numbers).size, new Set(addresses).size);
}

/** The numbers of `1, 2` and of `4-6`. */
function numbersIn(cited: string): readonly number[] {
  return cited.split(/[,;]/u).flatMap((part) => {
    const [first = 0, last = first] = part.split(/[–-]/u).map(Number);
    return Array.from({ length: Math.max(1, last - first + 1) }, (_, index) => first + index);
  });
}
