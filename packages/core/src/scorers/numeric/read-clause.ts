import { type FoundNumber, findNumbers } from './find-numbers.ts';
import { isWithin, type Quantity } from './quantity.ts';

/** What a part of a text says. */
export type Reading =
  /** One number. `isAtEnd` is true if nothing follows it, so that digits may be missing. */
  | { readonly kind: 'number'; readonly quantity: Quantity; readonly isAtEnd: boolean }
  /** Several numbers, a range, or a term that is no number. */
  | { readonly kind: 'unclear' }
  /** No number at all. */
  | { readonly kind: 'none' };

export const NONE: Reading = { kind: 'none' };
export const UNCLEAR: Reading = { kind: 'unclear' };

const FILLER =
  "(?:about|approximately|approx\\.?|roughly|around|nearly|exactly|precisely|simply|just|only|but|indeed|therefore|thus|now|actually|still|equals?|equal to|a total of|total of|an? |either|it is|it's|that is|that's|rather|etwa|ungefähr|genau|rund|environ|circa|ca\\.?|unos|aproximadamente|约|大约|約|около|примерно)";
/** A clause that begins with its value: "about $5", "x = 5", "≈ 3". */
const STARTS_WITH_VALUE = new RegExp(
  String.raw`^[\s$:=≈"'“«([*_|→⇒…]{0,12}(?:${FILLER}[\s:,]{0,3}){0,4}(?:[^\d=≈.,;\n]{0,60}[=≈]\s?)?[\s$("'“([]{0,6}[-+–—]?[ ]?(?:[A-Z]{0,3}\p{Sc}|Rs\.?|[A-Z]{3}\b)?[ ]?[-+]?\.?\d`,
  'iu',
);
const OPERATION =
  /^[ $]*(?:[-+–—*×·÷/^]|\*\*|[xX]|plus|minus|times|divided by|multiplied by|mod)[ $]*$/u;
const UNIT = String.raw`[ $%°]{0,4}(?:[\p{L}/]{1,15}\.?[ ]?)?[$)]?`;
const RANGE = new RegExp(
  String.raw`^${UNIT}[ $]{0,4}(?:[–—-]|(?<!\p{L})(?:to|through|up to|bis|à|hasta|до)|至|到|から|부터|에서)[ $]*$`,
  'iu',
);
/** Another value of the same kind: "5 and -3", "5 hours and 30 minutes", "x = 5 or x = -3". */
const ANOTHER = String.raw`[ $]{0,4}(?:[,;&|]|,?[ ]?(?<!\p{L})(?:and|or|und|oder|et|ou|y|e|o|и|или)(?!\p{L})|或|和|と|または|및)[ $(]*(?:(?:and|or|also)[ $]+)?(?:[\p{L}_'][\p{L}\d_']{0,11}[ ]?=[ $]*)?$`;
const LIST = new RegExp(`^${UNIT}${ANOTHER}`, 'iu');
/** The same without a unit in between: "3 and 5", but not "4 boxes and 5 balls". */
const BARE_LIST = new RegExp(`^[ $]{0,3}${ANOTHER}`, 'iu');
const EQUATION = /^[^.,;:\n]{0,40}=[ $({]*$/u;
const APPROXIMATION =
  /^[ $(,]*(?:≈|(?:which is |that is |or )?(?:about|approximately|approx|roughly|around|rounded|etwa|environ)\b[^.;\n\d]{0,20})[ $]*$/iu;

/** Returns whether a clause begins with its value. */
export function startsWithValue(clause: string): boolean {
  return STARTS_WITH_VALUE.test(clause);
}

/**
 * Reads a clause that begins with its value: the value is the result of an equation, and is exact rather than
 * its approximation. What follows in other words does not count; a second value on the same footing makes the
 * clause unclear.
 */
export function readValue(clause: string): Reading {
  const text = dropAsides(clause);
  return readChain(text, findNumbers(text), 0);
}

/**
 * Reads a sentence that states its number anywhere: the right side of its last equation if no other clause
 * follows, else its last number.
 */
export function readSentence(sentence: string): Reading {
  const text = dropAsides(sentence);
  const numbers = dropYear(text, findNumbers(text));
  const last = numbers.at(-1);
  if (last === undefined) return NONE;
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
  if (exact === undefined || (before && isJoined(text, before, exact))) return UNCLEAR;
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
function readChain(text: string, numbers: readonly FoundNumber[], from: number): Reading {
  const [first, ...rest] = numbers.slice(from);
  if (first === undefined) return NONE;
  const segments: Segment[] = [{ numbers: [first], isApproximation: false }];
  let previous = first;
  for (const next of rest) {
    const joint = findJoint(text.slice(previous.end, next.start));
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

function findJoint(gap: string): Joint {
  return JOINTS.find(([, pattern]) => pattern.test(gap))?.[0] ?? 'other';
}

function chooseValue(text: string, segments: readonly Segment[]): Reading {
  const plain = segments.filter(({ numbers }) => numbers.length === 1 && numbers[0]?.quantity);
  const chosen =
    plain.findLast(({ isApproximation }) => !isApproximation) ??
    plain.find(({ isApproximation }) => isApproximation);
  const number = chosen?.numbers[0];
  return number === undefined ? UNCLEAR : toReading(text, number);
}

function toReading(text: string, { quantity, end }: FoundNumber): Reading {
  if (quantity === undefined) return UNCLEAR;
  return { kind: 'number', quantity, isAtEnd: end === text.length };
}

/** Whether two numbers side by side are one range, one term, or two values on the same footing. */
function isJoined(text: string, a: FoundNumber, b: FoundNumber): boolean {
  const gap = text.slice(a.end, b.start);
  const isBare = /^[ $]*$/.test(gap);
  return isBare || OPERATION.test(gap) || RANGE.test(gap) || isOther(text, a, b);
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

/** Leaves out the year at the end of a sentence that has another number: "it cost $5 in 2020". */
function dropYear(text: string, numbers: readonly FoundNumber[]): readonly FoundNumber[] {
  const last = numbers.at(-1);
  if (last === undefined || numbers.length < 2) return numbers;
  const isYear =
    /^(?:1[5-9]|20)\d\d$/.test(text.slice(last.start, last.end)) &&
    /\b(?:in|since|by|of|year|during|until|from|im Jahr|en)[ ]$/.test(
      text.slice(0, last.start).slice(-12),
    );
  return isYear ? numbers.slice(0, -1) : numbers;
}
