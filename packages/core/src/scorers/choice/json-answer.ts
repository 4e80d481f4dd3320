import { lastMatches } from '../last-matches.ts';
import { findChoice } from './read-choice-text.ts';
import { readLetter } from './read-letter.ts';
import { agree, type ChoiceReading } from './reading.ts';

/** A field of a JSON object, fenced or not, whole or cut off. */
const FIELD =
  /"(?<key>[\w -]{1,40})"\s?:\s{0,8}(?:\[\s{0,8})?(?:"(?<text>(?:[^"\\\n]|\\.){0,2000})"|(?<bare>[A-Za-z])(?=\s{0,8}[,}\]]))(?<more>\s{0,8},\s{0,8}"[^"]{0,200}"\s{0,8}\])?/gu;
/** The more telling the key, the earlier it stands. */
const KEYS = [
  /^(?:final|correct|predicted|best)[ _-]?(?:answer|choice|option)$/iu,
  /^answers?(?:[ _-](?:choice|letter|option|key))?$/iu,
  /^(?:selected|chosen)[ _-]?(?:answer|choice|option|letter)?$|^(?:choice|option|letter|selection|prediction|response|result)$/iu,
];
/** Fields looked at, from the end of the text. */
const MAX_FIELDS = 100;

/** Reads the field of a JSON object that holds the answer: `{"reasoning": "...", "answer": "B"}`. */
export function readJsonAnswer(
  text: string,
  choices: readonly string[],
): ChoiceReading | undefined {
  const fields = lastMatches(text, FIELD, MAX_FIELDS);
  for (const key of KEYS) {
    const readings = fields
      .filter(({ groups }) => key.test(groups?.['key'] ?? ''))
      .map(({ groups }) => readField(groups ?? {}, choices))
      .filter((reading) => reading !== undefined);
    if (readings.length > 0) return agree(readings);
  }
  return undefined;
}

function readField(
  { text, bare, more }: { readonly [name: string]: string | undefined },
  choices: readonly string[],
): ChoiceReading | undefined {
  if (more !== undefined) return { letter: null };
  const value = text ?? bare ?? '';
  const letter = findChoice(value, choices);
  return letter === undefined ? readLetter(value) : { letter };
}
