import type { ConfidenceReason, StatedConfidence } from '../../domain/confidence.ts';

/** The scale in which a confidence was asked for: 0 to 1, or 0 to 100. */
export type ConfidenceScale = 'ratio' | 'percent';

const NUMBER = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*(%|percent)?$/iu;
/** What stands in place of a number. */
const REASONS: readonly (readonly [text: RegExp, reason: ConfidenceReason])[] = [
  [/^(?:none|n\/a|null|unknown|-*)$/iu, 'no-confidence'],
  [/^nan$/iu, 'not-a-number'],
  [/^[+-]?inf(?:inity)?$/iu, 'out-of-range'],
];

/**
 * Reads a confidence: a number in the scale that was asked for, or one with a percent sign in either.
 *
 * @param stated - A JSON value, or what stands where a confidence was asked for; null or undefined for nothing.
 */
export function readRatio(stated: unknown, scale: ConfidenceScale): StatedConfidence {
  const text = plainTextOf(stated ?? '');
  if (text === undefined) return unknown('unreadable');
  const [, number, sign] = NUMBER.exec(text) ?? [];
  if (number === undefined)
    return unknown(REASONS.find(([words]) => words.test(text))?.[1] ?? 'unreadable');
  const most = sign !== undefined || scale === 'percent' ? 100 : 1;
  // -0 is 0.
  const value = Number(number) + 0;
  return value >= 0 && value <= most ? { confidence: value / most } : unknown('out-of-range');
}

/** What stands around a value: emphasis, quotation marks, braces, parentheses. */
const OPENING = /^[\s*_`"'“„‘{([]+/u;
const CLOSING = /[\s*_`"'”’})\].,;]+$/u;
/** As in `85 % (fairly sure)`. */
const REMARK = /\s*\([^()]*\)\s*$/u;
const MAX_LENGTH = 200;

/** A value without what stands around it; undefined for one that is no number, or longer than any. */
function plainTextOf(stated: unknown): string | undefined {
  if (typeof stated === 'number') return String(stated);
  const text = typeof stated === 'string' ? stated.trim() : undefined;
  if (text === undefined || text.length > MAX_LENGTH) return undefined;
  const value = text.startsWith('(') ? text : text.replace(REMARK, '');
  return value.replace(OPENING, '').replace(CLOSING, '');
}

function unknown(confidenceReason: ConfidenceReason): StatedConfidence {
  return { confidence: null, confidenceReason };
}
