import { choiceLetter } from '../../domain/choices.ts';
import type { AnswerText } from '../../domain/scorer.ts';
import { cutAfterTurn, textBeforeNextTurn } from '../run-on-text.ts';
import { findBoxed } from './boxed.ts';
import { textAfterCorrection } from './corrections.ts';
import { readJsonAnswer } from './json-answer.ts';
import { readJudgedLabels, readLabel, readLastLabel, readLoneLetter } from './lines.ts';
import { toPlainText } from './plain-text.ts';
import { findChoice, findMentionedChoice } from './read-choice-text.ts';
import type { ChoiceReading } from './reading.ts';
import { readChosen, readPraised, readTrailing } from './sentences.ts';
import { findStatement } from './statements.ts';

type Rule = (text: string, choices: readonly string[]) => ChoiceReading | undefined;

/** Rules for what a text declares. They also hold if the token limit ended the text later. */
const declarations: readonly Rule[] = [readDeclared, readJsonAnswer];

/** Rules for a text that declares nothing, in order of what they can be trusted with. */
const hints: readonly Rule[] = [
  readLoneLetter,
  readJudgedLabels,
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

function readWhole(text: string, choices: readonly string[]): ChoiceReading | undefined {
  return (
    readWholeChoice(text, choices) ??
    readBeforeNextTurn(text, choices) ??
    readCorrected(text, choices) ??
    ask([...declarations, ...hints], text, choices) ??
    readNumbered(text, choices)
  );
}

/** A digit that may stand for a choice: no part of a number, and no amount of anything. */
const LABEL_NUMBER =
  /(?<![\p{Script=Latin}\p{Script=Cyrillic}\p{N}.,$€£¥#-])[1-9](?:번|番)?(?![\p{Script=Latin}\p{Script=Cyrillic}\p{N}%°]|[.,]\d|\s(?!(?:is|ist|es|est)\s)\p{L})/gu;

/**
 * A text that names a choice by its number, as exams in many countries do: "정답은 4입니다". Where a choice's own text
 * has a digit, a number may as well stand for that.
 */
function readNumbered(text: string, choices: readonly string[]): ChoiceReading | undefined {
  if (choices.length === 0 || choices.some((choice) => /\d/u.test(choice))) return undefined;
  const lettered = text.replace(LABEL_NUMBER, (digit) => choiceLetter(Number(digit.charAt(0)) - 1));
  if (lettered === text) return undefined;
  const rules = [...declarations, readLoneLetter, readLabel, readPraised, readChosen];
  return ask(rules, lettered, choices);
}

/** Reads what comes before a question that the model added itself, if that is an answer. */
function readBeforeNextTurn(text: string, choices: readonly string[]): ChoiceReading | undefined {
  const before = textBeforeNextTurn(text);
  return before === undefined
    ? undefined
    : ask([...declarations, readLoneLetter, readLabel], before, choices);
}

/** A text that is that of a choice, such as "Both A and B", unless it also names another by its letter. */
function readWholeChoice(text: string, choices: readonly string[]): ChoiceReading | undefined {
  const letter = findChoice(text, choices);
  return letter === undefined ? undefined : { letter: readLoneLetter(text)?.letter ?? letter };
}

/** What a model writes over the explanation of an answer that it has given. */
const EXPLANATION =
  /\n\s{0,9}(?:rationale|explanation|reason(?:ing)?|justification|because|erklärung|begründung|explication|explicación|explicação|解析|解説|설명|해설)(?!\p{L})/iu;

/**
 * A text that the token limit ended states its answer in so many words, or begins with it: the rest is no more than
 * a letter's explanation, or a question that the model added itself.
 */
function readCutOff(text: string, choices: readonly string[]): ChoiceReading | undefined {
  const declared = readBeforeNextTurn(text, choices) ?? ask(declarations, text, choices);
  if (declared !== undefined) return declared;
  if (/^\s*["'([]?[A-Z][)\].]?\s*(?:\n|$)/u.test(text)) return readLoneLetter(text);
  const judged = readJudgedLabels(text, choices);
  if (judged !== undefined) return judged;
  const explanation = text.search(EXPLANATION);
  if (explanation === -1) return undefined;
  return ask([readLoneLetter, readLabel], text.slice(0, explanation), choices);
}

/** Reads what follows the last correction, if that settles on a choice. */
function readCorrected(text: string, choices: readonly string[]): ChoiceReading | undefined {
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
): ChoiceReading | undefined {
  for (const rule of rules) {
    const reading = rule(text, choices);
    if (reading !== undefined) return reading;
  }
  return undefined;
}

/** The last explicit statement or box: whichever comes later. */
function readDeclared(text: string, choices: readonly string[]): ChoiceReading | undefined {
  const statement = findStatement(text, choices);
  const boxed = findBoxed(text, choices);
  if (statement === undefined || boxed === undefined) return statement ?? boxed;
  return boxed.index > statement.index ? boxed : statement;
}

/** The text of a choice as the last or first line of a text, or as the only one that its only line mentions. */
function readChoiceText(text: string, choices: readonly string[]): ChoiceReading | undefined {
  const lines = text.trim().split('\n');
  const [first = ''] = lines;
  for (const part of [lines.at(-1) ?? '', first]) {
    const letter = findChoice(part, choices);
    if (letter !== undefined) return { letter };
  }
  return lines.length === 1 ? findMentionedChoice(first, choices) : undefined;
}
