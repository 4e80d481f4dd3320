import { isCompound } from './compound.ts';
import { dropAdjuncts } from './drop-adjuncts.ts';
import { type FoundNumber, findNumbers } from './find-numbers.ts';
import { isWithin, type Quantity } from './quantity.ts';

/** What a part of a text says. */
export type NumberReading =
  /** One number. `isAtEnd` is true if nothing follows it, so that digits may be missing. */
  | { readonly kind: 'number'; readonly quantity: Quantity; readonly isAtEnd: boolean }
  /** Several numbers, a range, or a term that is no number. */
  | { readonly kind: 'unclear' }
  /** No number at all. */
  | { readonly kind: 'none' };

export const NONE: NumberReading = { kind: 'none' };
export const UNCLEAR: NumberReading = { kind: 'unclear' };

/** Words between a link and its value. */
const FILLER = `(?:${[
  'about|approximately|approx\\.?|roughly|around|nearly|exactly|precisely',
  'simply|just|only|but|indeed|therefore|thus|now|actually|still|either|rather',
  "equals?|equal to|a total of|total of|an? |it is|it's|that is|that's",
  'etwa|ungefähr|genau|rund|environ|circa|ca\\.?|unos|aproximadamente',
  '约|大约|約|около|примерно',
].join('|')})`;
/** A clause that begins with its value: "about $5", "x = 5", "≈ 3". */
const STARTS_WITH_VALUE = new RegExp(
  [
    String.raw`^[\s$:=≈"'“«([*_|→⇒…]{0,12}`,
    String.raw`(?:${FILLER}[\s:,]{0,3}){0,4}`,
    String.raw`(?:[^\d=≈.,;\n]{0,60}[=≈]\s?)?`,
    String.raw`[\s$("'“([]{0,6}[-+–—]?[ ]?(?:[A-Z]{0,3}\p{Sc}|Rs\.?|[A-Z]{3}\b)?[ ]?[-+]?\.?\d`,
  ].join(''),
  'iu',
);
const OPERATION =
  /^[ $]*(?:[-+–—*×·÷/^]|\*\*|[xX]|plus|minus|times|divided by|multiplied by|mod)[ $]*$/u;
const UNIT = String.raw`[ $%°]{0,4}(?:(?:per )?[\p{L}/]{1,15}\.?[ ]?)?[$)]?`;
const RANGE = new RegExp(
  String.raw`^${UNIT}[ $]{0,4}(?:[–—-]|(?<!\p{L})(?:to|through|up to|bis|à|hasta|до)|至|到|から|부터|에서)[ $]*$`,
  'iu',
);
/** Another value of the same kind: "5 and -3", "5 hours and 30 minutes", "x = 5 or x = -3". */
const ANOTHER = [
  '[ $]{0,4}(?:[,;&|]',
  String.raw`|,?[ ]?(?<!\p{L})(?:and|or|und|oder|et|ou|y|e|o|и|или)(?!\p{L})`,
  '|或|和|と|または|및)[ $(]*',
  String.raw`(?:(?:and|or|also)[ $]+)?(?:[\p{L}_'][\p{L}\d_']{0,11}[ ]?=[ $]*)?$`,
].join('');
const LIST = new RegExp(`^${UNIT}${ANOTHER}`, 'iu');
/** The same without a unit in between: "3 and 5", but not "4 boxes and 5 balls". */
const BARE_LIST = new RegExp(`^[ $]{0,3}${ANOTHER}`, 'iu');
/** Two amounts of different things: "3 apps and 29 files", "14 kids on Tuesday and 16 kids on Wednesday". */
const PAIR =
  /^[ ]\p{L}[\p{L}'-]{0,20}(?:[ ](?:[\p{L}'-]{1,20}|\d{1,6})){0,4},?[ ]and[ ](?:only |just )?$/u;
const EQUATION = /^[^.,;:\n]{0,40}=[ $({]*$/u;
const ABOUT = '(?:about|approximately|approx|roughly|around|rounded|etwa|environ)';
const APPROXIMATION = new RegExp(
  [
    String.raw`^[ $(,]*(?:≈|(?:which is |that is |or )?${ABOUT}\b[^.;\n\d]{0,20})[ $]*$`,
    // "8/3 gallons or about 2.67 gallons"
    String.raw`^[ $)]{0,4}\p{L}{1,15},? (?:or|which is|that is) ${ABOUT}[ $]*$`,
  ].join('|'),
  'iu',
);

/** Returns whether a clause begins with its value. */
export function startsWithValue(clause: string): boolean {
  return STARTS_WITH_VALUE.test(clause);
}

/** A value that says how it compares, so that a result must follow: "3 more than 39", "$12 per hour". */
const RELATION =
  /^[ $]{0,3}(?:\p{L}{1,15} )?(?:more|less|fewer|greater|higher|times)\b|^ per\b[^=\n]{0,80}=/iu;
/** A term that is worked out in equations: "3.3%×(906.6/3.3)×100% = 0.32% × 100% = 3.2%". */
const TERM = /^[ $]{0,3}[×·÷*/^+](?:(?![,;:]\s)[^=\n]){1,200}=(?:(?![,;:]\s)[^\n]){0,400}$/u;
const RESULT_LEFT = /(?:=|,? (?:which (?:is|equals|makes|gives)|i\.e\.,?|that is,?))[ $(]*$/i;

/**
 * Reads a clause that begins with its value: the value is the result of an equation, and is exact rather than
 * its approximation. What follows in other words does not count, unless the value only compares ("3 more than
 * 39, which is 42") or opens a term that is worked out; a second value on the same footing makes the clause unclear.
 */
export function readValue(clause: string): NumberReading {
  const text = dropAsides(clause);
  const numbers = findNumbers(text);
  const [first, last] = [numbers[0], numbers.at(-1)];
  if (first && last && first !== last) {
    const isWorkedOut =
      RELATION.test(text.slice(first.end, first.end + 100)) ||
      TERM.test(text.slice(first.end, last.start));
    const before = text.slice(Math.max(first.end, last.start - 20), last.start);
    if (isWorkedOut && RESULT_LEFT.test(before)) return toReading(text, last);
  }
  return readChain(text, numbers, 0);
}

/**
 * Reads a sentence that states its number anywhere: the right side of its last equation if no other clause
 * follows, else its last number.
 */
export function readSentence(sentence: string): NumberReading {
  const text = dropAsides(sentence);
  const numbers = dropAdjuncts(text, findNumbers(text));
  const last = numbers.at(-1);
  if (last === undefined) return NONE;
  if (isParallel(text, numbers)) return UNCLEAR;
  const equation = numbers.findLastIndex(({ start }) =>
    /=[ $({]*$/.test(text.slice(0, start).slice(-8)),
  );
  const result = numbers[equation];
  if (result !== undefined && !startsClause(text.slice(result.end, last.start))) {
    const reading = readChain(text, numbers, equation);
    const before = numbers[equation - 1];
    if (reading.kind === 'number' && !(before && isOther(text, before, result))) return reading;
  }
  const [before, exact] = findExact(text, numbers);
  if (exact === undefined) return UNCLEAR;
  // "Among 9.11 and 9.9, 9.11 is greater" chooses one of a list.
  const isChosen = numbers.some((number) => number !== exact && isSame(number, exact));
  if (before && !isChosen && isJoined(text, before, exact)) return UNCLEAR;
  return toReading(text, exact);
}

/** The last number, and the one before it; of a number and its approximation the number. */
function findExact(
  text: string,
  numbers: readonly FoundNumber[],
): readonly [before: FoundNumber | undefined, exact: FoundNumber | undefined] {
  let index = numbers.length - 1;
  for (; index > 0; index -= 1) {
    const [before, number] = [numbers[index - 1], numbers[index]];
    if (before?.quantity === undefined || number === undefined) break;
    if (!APPROXIMATION.test(text.slice(before.end, number.start))) break;
  }
  return [numbers[index - 1], numbers[index]];
}

interface Segment {
  readonly numbers: FoundNumber[];
  readonly isApproximation: boolean;
}

/** Follows equations from a number on: "256 + 37 = 293", "1/3 ≈ 0.33". */
function readChain(text: string, numbers: readonly FoundNumber[], from: number): NumberReading {
  const [first, ...rest] = numbers.slice(from);
  if (first === undefined) return NONE;
  const segments: Segment[] = [{ numbers: [first], isApproximation: false }];
  let previous = first;
  for (const next of rest) {
    const joint = findJoint(text, previous, next);
    if (joint === 'range' || (joint === 'list' && !isSame(previous, next))) return UNCLEAR;
    if (joint === 'other') break;
    if (joint === 'operation') segments.at(-1)?.numbers.push(next);
    else if (joint !== 'list') {
      segments.push({ numbers: [next], isApproximation: joint === 'approximation' });
    }
    previous = next;
  }
  return chooseValue(text, segments);
}

/** What stands between two numbers. */
type Joint = 'approximation' | 'operation' | 'range' | 'list' | 'equation' | 'other';

/** In order: the first that fits is the one that is meant. */
const JOINTS: readonly (readonly [joint: Joint, pattern: RegExp])[] = [
  ['approximation', APPROXIMATION],
  ['operation', OPERATION],
  ['range', RANGE],
  ['list', LIST],
  ['equation', EQUATION],
];

function findJoint(text: string, a: FoundNumber, b: FoundNumber): Joint {
  if (isCompound(text, a, b)) return 'range';
  const gap = text.slice(a.end, b.start);
  return JOINTS.find(([, pattern]) => pattern.test(gap))?.[0] ?? 'other';
}

function chooseValue(text: string, segments: readonly Segment[]): NumberReading {
  const plain = segments.filter(({ numbers }) => numbers.length === 1 && numbers[0]?.quantity);
  const chosen =
    plain.findLast(({ isApproximation }) => !isApproximation) ??
    plain.find(({ isApproximation }) => isApproximation);
  const number = chosen?.numbers[0];
  return number === undefined ? UNCLEAR : toReading(text, number);
}

function toReading(text: string, { quantity, end }: FoundNumber): NumberReading {
  if (quantity === undefined) return UNCLEAR;
  return { kind: 'number', quantity, isAtEnd: end === text.length };
}

/** Whether two numbers side by side are one range, one term, or two values on the same footing. */
function isJoined(text: string, a: FoundNumber, b: FoundNumber): boolean {
  const gap = text.slice(a.end, b.start);
  const isBare = /^[ $]*$/.test(gap);
  return (
    isBare ||
    OPERATION.test(gap) ||
    RANGE.test(gap) ||
    isCompound(text, a, b) ||
    (PAIR.test(gap) && isCount(text, b) && !isSame(a, b)) ||
    isOther(text, a, b)
  );
}

/** Whether a number is a whole one with its noun: "29 files". */
function isCount(text: string, { start, end }: FoundNumber): boolean {
  return /^\d[\d,]* \p{L}/u.test(text.slice(start, end + 2));
}

/** Whether a sentence gives a rate of one thing and of another: "$2 per child and $5 per adult". */
function isParallel(text: string, numbers: readonly FoundNumber[]): boolean {
  const [last, ...others] = numbers.toReversed();
  if (last === undefined || !/^ per \p{L}/u.test(text.slice(last.end, last.end + 8))) return false;
  return others.some(
    (number) =>
      !isSame(number, last) &&
      /^ per \p{L}{1,20},? and\b/u.test(text.slice(number.end, number.end + 40)),
  );
}

function isOther(text: string, a: FoundNumber, b: FoundNumber): boolean {
  return BARE_LIST.test(text.slice(a.end, b.start)) && !isSame(a, b);
}

function isSame(a: FoundNumber, b: FoundNumber): boolean {
  if (a.quantity === undefined || b.quantity === undefined) return false;
  return isWithin(a.quantity, b.quantity, { absolute: 0, relative: 0 });
}

function startsClause(text: string): boolean {
  return /[,;]|\b(?:then|so|get|gives?|have|has|is|are|was|were|equals?|makes?|leaves?)\b/i.test(
    text,
  );
}

/** Removes what stands in parentheses after a number: roundings, restatements, workings. */
function dropAsides(text: string): string {
  const first = text.search(/\d/);
  if (first === -1 || !text.includes('(')) return text;
  const inner = /(?<=[\s%°])\([^()]{0,400}\)/g;
  return text.slice(0, first) + text.slice(first).replace(inner, '').replace(inner, '');
}
