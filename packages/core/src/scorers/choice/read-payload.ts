import { findLeadingChoice } from './read-choice-text.ts';
import { readLetter } from './read-letter.ts';
import type { ChoiceReading } from './reading.ts';

/** A reading and where in the text it ends. */
export interface ChoicePayload extends ChoiceReading {
  readonly end: number;
}

/**
 * Reads what a statement says at an index: the text of a choice, else a letter.
 *
 * The text comes first, since it may begin with what looks like a letter: "B. cereus", "D major", "A and B".
 */
export function readPayload(
  text: string,
  index: number,
  choices: readonly string[],
): ChoicePayload | undefined {
  return findLeadingChoice(text, index, choices) ?? readLetter(text, index);
}
