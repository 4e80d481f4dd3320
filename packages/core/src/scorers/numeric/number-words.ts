import { createDecimal } from './rational.ts';
import type { Reading } from './read-clause.ts';

const UNITS =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const TENS = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const WORD = new RegExp(
  String.raw`^\W*(?:(?<tens>${TENS.join('|')})(?:[- ](?<ones>${UNITS.slice(1, 10).join('|')}))?|(?<units>${UNITS.join('|')}))\b(?![- ](?:hundred|thousand|million|billion|of|half|halves|quarters?|(?:third|fifth|sixth|seventh|eighth|ninth|tenth)s?)\b)`,
  'i',
);

/** Reads the small number in words that an English clause begins with: "forty-two apples". */
export function readNumberWord(clause: string): Reading | undefined {
  const groups = WORD.exec(clause)?.groups;
  if (groups === undefined || /\d/.test(clause)) return undefined;
  const { tens = '', ones = '', units = '' } = groups;
  const [tensIndex, onesIndex] = [
    TENS.indexOf(tens.toLowerCase()),
    UNITS.indexOf(ones.toLowerCase()),
  ];
  const value =
    tens === ''
      ? UNITS.indexOf(units.toLowerCase())
      : (tensIndex + 2) * 10 + Math.max(onesIndex, 0);
  const quantity = { value: createDecimal(String(value), 0), isPercent: false };
  return { kind: 'number', quantity, isAtEnd: false };
}
