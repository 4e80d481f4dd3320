import { trimWhere } from '../trim-where.ts';

/**
 * A citation by number, as in `[3]`, `[1, 2]` or `[4-6]`. Sources are numbered from 1; what follows `=`, `∈`, or a single
 * letter and "in" is a list or an interval.
 */
const NUMBERED =
  /(?<!(?:[=∈⊂⊆]|\\in|\b[a-z] in) ?)\[([1-9]\d{0,2}(?:[,;–-] ?[1-9]\d{0,2}){0,20})\]/giu;
/** The most sources that a text cites as a range: a wider one is an interval. */
const MAX_RANGE = 20;
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

/** The numbers of `1, 2` and of `4-6`; none of a range that names no sources. */
function numbersIn(cited: string): readonly number[] {
  return cited.split(/[,;]/u).flatMap((part) => {
    const [first = 0, last = first] = part.split(/[–-]/u).map(Number);
    const count = last - first + 1;
    return count < 1 || count > MAX_RANGE
      ? []
      : Array.from({ length: count }, (_, index) => first + index);
  });
}
