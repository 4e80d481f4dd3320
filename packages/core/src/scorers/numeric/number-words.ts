import { createDecimal } from './rational.ts';
import type { NumberReading } from './read-clause.ts';

const UNITS =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const SCALES: Readonly<Record<string, number>> = {
  hundred: 100,
  thousand: 1000,
  million: 1_000_000,
};
const WORD = `(?:${[...UNITS, ...TENS, ...Object.keys(SCALES)].join('|')})`;
/** Number words, up to twelve: "one hundred and five thousand two hundred". */
const NUMBER = new RegExp(
  String.raw`^\W*(?:an? (?=hundred|thousand|million))?(${WORD}(?:(?:-|,? (?:and )?)${WORD}){0,12})\b(?![- ](?:billion|dozen|of|half|halves|quarters?|(?:third|fifth|sixth|seventh|eighth|ninth|tenth)s?)\b)`,
  'i',
);

/** Reads the number in words that an English clause begins with: "forty-two apples", "one hundred and five". */
export function readNumberWord(clause: string): NumberReading | undefined {
  const words = NUMBER.exec(clause)?.[1];
  if (words === undefined || /\d/.test(clause)) return undefined;
  const value = countWords(words.toLowerCase().match(/[a-z]+/g) ?? []);
  if (value === undefined) return undefined;
  const quantity = { value: createDecimal(String(value), 0), isPercent: false };
  return { kind: 'number', quantity, isAtEnd: false };
}

/** A number in words anywhere. "One" also stands for a thing, so it is none. */
const ANY_NUMBER = new RegExp(
  String.raw`(?<![\p{L}-])(?!one\b)${WORD}(?:[- ]${WORD}){0,12}\b`,
  'giu',
);
/** A longer text tells more than one number, whether in words or not. */
const SHORT_TEXT = 500;

/** Reads a short text without digits that has one number in words: "There are two objects left on the table." */
export function readOnlyNumberWord(text: string): NumberReading | undefined {
  if (text.length > SHORT_TEXT) return undefined;
  const [found, another] = [...text.matchAll(ANY_NUMBER)];
  return found === undefined || another !== undefined
    ? undefined
    : readNumberWord(text.slice(found.index));
}

interface Count {
  /** The thousands and millions so far, and what follows them. */
  readonly total: number;
  readonly group: number;
  /** What may still be added to the group: less than this. */
  readonly limit: number;
}

const START: Count = { total: 0, group: 0, limit: 1000 };

/** Undefined for words in an order that makes no number, as in "two three". */
function countWords(words: readonly string[]): number | undefined {
  const count = words
    .filter((word) => word !== 'and')
    .reduce<Count | undefined>((soFar, word) => soFar && addWord(soFar, word), START);
  return count && count.total + count.group;
}

function addWord({ total, group, limit }: Count, word: string): Count | undefined {
  const scale = SCALES[word];
  if (scale === 100)
    return group < 10 ? { total, group: (group || 1) * 100, limit: 100 } : undefined;
  if (scale !== undefined) return { ...START, total: total + (group || 1) * scale };
  const value = UNITS.includes(word) ? UNITS.indexOf(word) : (TENS.indexOf(word) + 2) * 10;
  return value < limit ? { total, group: group + value, limit: value >= 20 ? 10 : 1 } : undefined;
}
