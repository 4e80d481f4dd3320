import { findChoice } from './read-choice-text.ts';
import { readLetter } from './read-letter.ts';
import { agree, type ChoiceReading } from './reading.ts';

const BULLET = /^\s*(?:[-+•◦▪]\s+|\d{1,2}[.)]\s+(?=\S))?/u;
/** A line of a letter and nothing else, such as "B", "(B).", "[B]" or "Option B". */
const LONE =
  /^\s*(?:(?:[Oo]ption|[Cc]hoice|[Ll]etter)\s?:?\s?)?["'“”([{<]{0,3}(?<letter>[A-Z])["'“”)\]}>]{0,3}\s?[.:,;!。]?\s*$/u;
/** A line that a letter labels: "B. Paris", "B) Paris", "(B) Paris", "B: Paris", "B - Paris", "B, since". */
const LABELLED =
  /^(?:(?:[Oo]ption|[Cc]hoice)\s)?(?<opening>["'“([]{0,3})(?<letter>[A-Z]|[a-z](?=[.:)\]]))(?<label>[)\]]{1,3}[.:]?|[.:]\)?|\s?[-–—](?=\s)|,(?=\s)|\s(?=\(|because\s|since\s))\s*(?<rest>\S.*)?$/u;
/** Nothing but letters: "A, C", "A and B", "(A), (C)". */
const ONLY_LETTERS =
  /^\s*(?:both |either )?["'([]{0,2}[A-Z]["')\]]{0,2}(?:\s?(?:[,;/|&+]|and|or|y|e|o|ou|et|und|oder|и|или|和|或|と){1,2}\s?["'([]{0,2}[A-Z]["')\]]{0,2}){1,25}\s?[.!]?\s*$/u;
/** The longest line that can be of a letter only. */
const LONE_CHARS = 60;
/** How much of the last line is searched for a label. */
const LAST_LABEL_CHARS = 1000;
/** Lines looked at for a label, from the start. */
const MAX_LINES = 200;

/** Reads a line of a single letter. A text that is only a small letter counts as well. */
export function readLoneLetter(text: string): ChoiceReading | undefined {
  const trimmed = text.trim();
  if (/^["'([]?[a-z][.)\]'"]{0,2}$/u.test(trimmed)) return readLetter(trimmed);
  if (trimmed.length <= 200 && ONLY_LETTERS.test(trimmed)) {
    return agree(
      [...trimmed.matchAll(/(?<!\p{L})[A-Z](?!\p{L})/gu)].map(([letter]) => ({ letter })),
    );
  }
  return agree(loneLetters(text));
}

function* loneLetters(text: string): Generator<ChoiceReading> {
  for (const line of text.split('\n')) {
    if (line.length > LONE_CHARS) continue;
    const letter = LONE.exec(line.replace(BULLET, ''))?.groups?.['letter'];
    if (letter !== undefined) yield { letter };
  }
}

/** Reads the label in mid-line of a choice with whose own text the answer ends: "... in 1 minute. (D) 4 minutes". */
export function readLastLabel(text: string, choices: readonly string[]): ChoiceReading | undefined {
  const line = text.trimEnd().split('\n').at(-1)?.slice(-LAST_LABEL_CHARS).trim() ?? '';
  const labels = [...line.matchAll(/(?<=^|\s)[(]?(?<letter>[A-Z])[).:]\s/gu)];
  const [label, another] = labels;
  if (label === undefined || label.index === 0 || another !== undefined) return undefined;
  const letter = label.groups?.['letter'];
  const isOwnText = findChoice(line.slice(label.index + label[0].length), choices) === letter;
  return letter !== undefined && isOwnText ? { letter } : undefined;
}

/**
 * Reads the letter that labels the first line, or a later line with the text of its choice. A list of several
 * labelled lines goes through the choices and names none, unless only the first of them comes before prose.
 */
export function readLabel(text: string, choices: readonly string[]): ChoiceReading | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const labels = lines
    .slice(0, MAX_LINES)
    .map((line, index) => readLabelled(line, index, choices))
    .filter((label) => label !== undefined);
  const [first, second] = labels;
  if (first === undefined) return undefined;
  if (labels.every(({ letter }) => letter === first.letter)) {
    return first.isOwnText || first.index === 0 ? first : undefined;
  }
  // The answer comes first, then a remark on each of the other choices.
  const isAnswerFirst = first.index === 0 && !labels.slice(1).some(({ isOwnText }) => isOwnText);
  const isFollowedByProse = second !== undefined && second.index > 1;
  const isOutOfOrder = second !== undefined && first.isOwnText && !isNext(first, second);
  return isAnswerFirst && (isFollowedByProse || isOutOfOrder) ? first : undefined;
}

function isNext({ letter }: Label, { letter: next }: Label): boolean {
  return letter !== null && next?.codePointAt(0) === (letter.codePointAt(0) ?? 0) + 1;
}

interface Label {
  /** Null if a second letter follows: "A. C". */
  readonly letter: string | null;
  /** Number of its line among those with text. */
  readonly index: number;
  /** Whether the rest of the line is the text of the choice. */
  readonly isOwnText: boolean;
}

function readLabelled(line: string, index: number, choices: readonly string[]): Label | undefined {
  const text = line.replace(BULLET, '');
  // The text of a choice may itself begin like a label: "B. cereus".
  const whole = findChoice(text, choices);
  if (whole !== undefined && text.length > 3) return { letter: whole, index, isOwnText: true };
  const groups = LABELLED.exec(text)?.groups;
  const written = groups?.['letter'];
  if (written === undefined) return undefined;
  const rest = groups?.['rest'] ?? '';
  const letter = written.toUpperCase();
  const isOwnText = findChoice(rest.replace(/^\(|\)$/gu, ''), choices) === letter;
  // The text of a choice may say "no" or look like a formula; an explanation may not deny the letter.
  if (isOwnText) return { letter, index, isOwnText };
  if (/^[([]?[A-Z][)\]]?[.!]?$/u.test(rest)) return { letter: null, index, isOwnText };
  // A list goes through the choices, on several lines or on one.
  if (/\s[([][A-Z][)\]]\s/u.test(rest)) return undefined;
  if (text !== line.trim() || readLetter(text)?.letter !== letter) return undefined;
  return { letter, index, isOwnText };
}

const WRONG =
  /(?<!\p{L})(?:in(?:correct|accurate|valid)|not (?:correct|right|true|the (?:correct|best|right))|wrong|false)(?!\p{L})/iu;
const RIGHT =
  /(?<!\p{L})(?:is|the|this is) (?:correct|right|true|the (?:correct|best|right) (?:answer|option|choice))(?!\p{L})/iu;

/** "Option D. (-4, 3) is the correct choice": the line answers, whatever is said of the others. */
const IS_ANSWER = /(?<!\p{L})is the (?:correct|right|best) (?:answer|option|choice)(?!\p{L})/iu;

/**
 * Reads the only label whose line is called correct, of a text that calls another one wrong, or whose line is
 * called the correct choice.
 */
export function readJudgedLabels(
  text: string,
  choices: readonly string[],
): ChoiceReading | undefined {
  const judged = text
    .split('\n')
    .slice(0, MAX_LINES)
    .flatMap((line, index) => {
      const label = readLabelled(line.trim(), index, choices);
      const words = line.slice(0, LAST_LABEL_CHARS);
      if (typeof label?.letter !== 'string') return [];
      if (WRONG.test(words)) return [{ letter: label.letter, isRight: false, isAnswer: false }];
      const isAnswer = IS_ANSWER.test(words);
      return RIGHT.test(words) ? [{ letter: label.letter, isRight: true, isAnswer }] : [];
    });
  const right = judged.filter(({ isRight }) => isRight);
  const isDecided = right.length < judged.length || right.every(({ isAnswer }) => isAnswer);
  if (right.length === 0 || !isDecided) return undefined;
  return agree(right);
}
