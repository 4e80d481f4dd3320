import type { AnswerText } from '../../domain/scorer.ts';
import { cutAfterTurn, textBeforeNextTurn } from '../run-on-text.ts';
import { isRefusal, isRemark } from './drop-remarks.ts';
import { dropSideNumbers } from './drop-side-numbers.ts';
import { findNumbers } from './find-numbers.ts';
import { readOnlyNumberWord } from './number-words.ts';
import { dropBold, toPlainText } from './plain-text.ts';
import { formatQuantity, type Quantity } from './quantity.ts';
import {
  NONE,
  type NumberReading,
  readSentence,
  readValue,
  startsWithValue,
} from './read-clause.ts';
import { readStatements } from './read-statements.ts';

/** How much of a line is read where nothing says where in it the answer is. */
const LINE_LENGTH = 2000;
/** The longest text that can be a quantity: two numbers of the longest kind that is read. */
const QUANTITY_LENGTH = 5000;
/** A short first line, and an explanation of it. */
const EXPLAINED =
  /^\s{0,20}([^\n]{1,40})\n\s{0,20}(?:explanation|because|since|reason(?:ing)?|here(?:'s| is) (?:how|why)|justification|breakdown|calculation|working)/i;
const SENTENCE_END = /(?<=[.!?])[ ]+|\|/;
const CONCLUSION = /^\s{0,9}(?:so|therefore|thus|hence|in (?:total|conclusion)|overall)\b.*\d/i;
/** Of these, the words that conclude a whole text; "so" also opens its steps. */
const IN_CONCLUSION = /^\s{0,9}(?:therefore|thus|in conclusion|overall)\b/i;
/** What shows that a sentence still computes. */
const STEP = /=|\b(?:so|then|now|after|next|left|remain(?:s|ing)?|total|gives?|makes?)\b/i;
const BOLD = /\*\*([^*\n]{1,200})\*\*/g;

/**
 * Returns the number that a text gives as its answer, in the one form of {@link formatQuantity}.
 *
 * An explicit statement wins: "the answer is", `\boxed{}`, `#### 18`, a JSON field, in several languages; of
 * several the last. Without one it is the number that is explained in the lines after it, or else the number that
 * the last line with a number puts in bold, sets equal, or names last, or else the only one in words. Confidences,
 * exponents, step numbers, dates, totals ("out of 10"), parentheses, checks and notes do not count.
 *
 * @returns Undefined if the text gives no number or leaves open which, as with a range or two solutions, or if
 *   the token limit ended it before a statement.
 */
export function extractNumber(answer: AnswerText): string | undefined {
  const reading = readAnswer(answer);
  return reading.kind === 'number' ? formatQuantity(reading.quantity) : undefined;
}

/** Returns the quantity that a text consists of; undefined for any other text. */
export function parseQuantity(text: string): Quantity | undefined {
  if (text.length > QUANTITY_LENGTH) return undefined;
  const plain = dropBold(toPlainText(text)).trim();
  const [number, another] = findNumbers(plain);
  if (number === undefined || another !== undefined) return undefined;
  const rest = `${plain.slice(0, number.start)}${plain.slice(number.end)}`;
  return /^[\s$]*(?:\p{Sc}|°)?[\s$]*$/u.test(rest) ? number.quantity : undefined;
}

function readAnswer({ text, isCutOff }: AnswerText): NumberReading {
  const marked = toPlainText(cutAfterTurn(text));
  const plain = dropSideNumbers(dropBold(marked));
  const before = textBeforeNextTurn(plain);
  const first = before === undefined ? NONE : readStatements(before, false);
  if (first.kind !== 'none') return first;
  const stated = readStatements(plain, isCutOff);
  if (stated.kind !== 'none' || isCutOff) return stated;
  const explained = EXPLAINED.exec(plain)?.[1];
  if (explained !== undefined && startsWithValue(explained)) return readValue(explained);
  if (isRefusal(plain)) return NONE;
  if (!/\d/.test(plain)) return readOnlyNumberWord(plain) ?? NONE;
  const lines = { marked: marked.split('\n'), plain: plain.split('\n') };
  const reading = readLastLine(lines, (sentence) => !isRemark(sentence));
  return reading.kind === 'none' ? readLastLine(lines, () => true) : reading;
}

/** A text line by line, with and without its marks of bold text. */
interface Lines {
  readonly marked: readonly string[];
  readonly plain: readonly string[];
}

/** Reads the last line with a number, of the sentences that count. */
function readLastLine(lines: Lines, isCounted: (sentence: string) => boolean): NumberReading {
  for (let index = lines.plain.length - 1; index >= 0; index -= 1) {
    const line = (lines.plain[index] ?? '').slice(-LINE_LENGTH);
    if (!/\d/.test(line) || !isCounted(line)) continue;
    const bold = readBold((lines.marked[index] ?? '').slice(-LINE_LENGTH), line);
    const reading = bold.kind === 'none' ? readLine(line, isCounted) : bold;
    if (reading.kind !== 'none') return reading;
  }
  return NONE;
}

/** Reads the last sentence with a number. */
function readLine(line: string, isCounted: (sentence: string) => boolean): NumberReading {
  for (const sentence of sentencesUntilConclusion(line).reverse()) {
    if (!isCounted(sentence)) continue;
    const reading = readSentence(sentence.replace(/[{}]/g, ' '));
    if (reading.kind !== 'none') return reading;
  }
  return NONE;
}

/** The sentences of a line. Those after a conclusion only explain it, unless they compute. */
function sentencesUntilConclusion(line: string): string[] {
  const sentences = line.split(SENTENCE_END);
  const last = sentences.findLastIndex((sentence) => CONCLUSION.test(sentence));
  const after = sentences.slice(last + 1);
  const isFinal = IN_CONCLUSION.test(sentences[last] ?? '') && !STEP.test(after.join(' '));
  return isFinal ? sentences.slice(0, last + 1) : sentences;
}

/** Reads the last number in bold, unless it is one of those that do not count. */
function readBold(markedLine: string, plainLine: string): NumberReading {
  const counted = new Set(
    findNumbers(plainLine).map(({ quantity }) => quantity && formatQuantity(quantity)),
  );
  for (const [, bold = ''] of [...markedLine.matchAll(BOLD)].reverse()) {
    const reading = startsWithValue(bold) ? readValue(bold) : readSentence(bold);
    if (reading.kind === 'number' && counted.has(formatQuantity(reading.quantity))) return reading;
  }
  return NONE;
}
