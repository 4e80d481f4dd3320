import { choiceLetter } from '../../domain/choices.ts';
import type { AnswerText } from '../../domain/scorer.ts';
import { cutAfterTurn, textBeforeNextTurn } from '../run-on-text.ts';
import { findBoxed } from './boxed.ts';
import { textAfterCorrection } from './corrections.ts';
import { readJsonAnswer } from './json-answer.ts';
import { readLabel, readLastLabel, readLoneLetter } from './lines.ts';
import { toPlainText } from './plain-text.ts';
import { findChoice, findMentionedChoice } from './read-choice-text.ts';
import type { Reading } from './reading.ts';
import { readChosen, readPraised, readTrailing } from './sentences.ts';
import { findStatement } from './statements.ts';

type Rule = (text: string, choices: readonly string[]) => Reading | undefined;

/** Rules for what a text declares. They also hold if the token limit ended the text later. */
const declarations: readonly Rule[] = [readDeclared, readJsonAnswer];

/** Rules for a text that declares nothing, in order of what they can be trusted with. */
const hints: readonly Rule[] = [
  readLoneLetter,
  readLabel,
  readPraised,
  readChosen,
  readTrailing,
  readLastLabel,
  readChoiceText,
];

/**
 * Reads the choice that a text settles on.
 *
 * What a correction leads to wins over what it corrects. Otherwise the rules are asked one after the other, and
 * the first that reads anything decides: a rule that reads two letters, or one of no choice, ends the search.
 *
 * @param choices - The texts of the choices; if empty, any letter counts.
 * @returns A letter in upper case; undefined for a text that settles on no single choice.
 */
export function readChoice(
  { text, isCutOff }: AnswerText,
  choices: readonly string[],
): string | undefined {
  const plain = toPlainText(cutAfterTurn(text));
  const reading = isCutOff ? readCutOff(plain, choices) : readWhole(plain, choices);
  const letter = reading?.letter;
  return typeof letter === 'string' && isOffered(letter, choices) ? letter : undefined;
}

/** Whether a letter is that of a choice. Without choices, every letter is. */
export function isOffered(letter: string, choices: readonly string[]): boolean {
  return choices.length === 0 || choices.some((_, index) => choiceLetter(index) === letter);
}

function readWhole(text: string, choices: readonly string[]): Reading | undefined {
  return (
    readWholeChoice(text, choices) ??
    readBeforeNextTurn(text, choices) ??
    readCorrected(text, choices) ??
    ask([...declarations, ...hints], text, choices)
  );
}

/** Reads what comes before a question that the model added itself, if that is an answer. */
function readBeforeNextTurn(text: string, choices: readonly string[]): Reading | undefined {
  const before = textBeforeNextTurn(text);
  return before === undefined
    ? undefined
    : ask([...declarations, readLoneLetter, readLabel], before, choices);
}

/** A text that is that of a choice, such as "Both A and B", unless it also names another by its letter. */
function readWholeChoice(text: string, choices: readonly string[]): Reading | undefined {
  const letter = findChoice(text, choices);
  return letter === undefined ? undefined : { letter: readLoneLetter(text)?.letter ?? letter };
}

/** A text that the token limit ended states its answer in so many words, or is nothing but a letter. */
function readCutOff(text: string, choices: readonly string[]): Reading | undefined {
  const isLetter = /^\s*["'([]?[A-Z][)\].]?\s*$/u.test(text);
  return ask(isLetter ? [readLoneLetter] : declarations, text, choices);
}

/** Reads what follows the last correction, if that settles on a choice. */
function readCorrected(text: string, choices: readonly string[]): Reading | undefined {
  const rest = textAfterCorrection(text);
  if (rest === undefined) return undefined;
  const [sentence = ''] = rest.split(/(?<=[.!?])\s|\n/u, 1);
  const reading =
    ask(declarations, rest, choices) ??
    readPraised(sentence) ??
    ask([readLoneLetter, readChosen, readTrailing], rest, choices);
  return reading?.letter === null ? undefined : reading;
}

function ask(
  rules: readonly Rule[],
  text: string,
  choices: readonly string[],
): Reading | undefined {
  for (const rule of rules) {
    const reading = rule(text, choices);
    if (reading !== undefined) return reading;
  }
  return undefined;
}

/** The last explicit statement or box: whichever comes later. */
function readDeclared(text: string, choices: readonly string[]): Reading | undefined {
  const statement = findStatement(text, choices);
  const boxed = findBoxed(text, choices);
  if (statement === undefined || boxed === undefined) return statement ?? boxed;
  return boxed.index > statement.index ? boxed : statement;
}

/** The text of a choice as the last or first line of a text, or as the only one that its only line mentions. */
function readChoiceText(text: string, choices: readonly string[]): Reading | undefined {
  const lines = text.trim().split('\n');
  const [first = ''] = lines;
  for (const part of [lines.at(-1) ?? '', first]) {
    const letter = findChoice(part, choices);
    if (letter !== undefined) return { letter };
  }
  return lines.length === 1 ? findMentionedChoice(first, choices) : undefined;
}
