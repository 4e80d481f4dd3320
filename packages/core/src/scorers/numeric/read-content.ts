import { readNumberWord } from './number-words.ts';
import {
  NONE,
  type NumberReading,
  readSentence,
  readValue,
  startsWithValue,
  UNCLEAR,
} from './read-clause.ts';

/** Where nothing but an answer belongs, what is no number is an answer, too. An empty place says nothing. */
export function readContent(content: string): NumberReading {
  const clause = content.trim();
  if (clause === '') return NONE;
  const reading = startsWithValue(clause) ? readValue(clause) : readSentence(clause);
  return reading.kind === 'none' ? (readNumberWord(clause) ?? UNCLEAR) : reading;
}
