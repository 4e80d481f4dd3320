import {
  absolute,
  add,
  formatRational,
  isAtMost,
  multiply,
  negate,
  type Rational,
  rationalOf,
} from './rational.ts';

/** A number as it is written: 50% is 50 with a percent sign. */
export interface Quantity {
  readonly value: Rational;
  readonly isPercent: boolean;
}

/** How far two quantities may be apart. */
export interface Tolerance {
  readonly absolute: number;
  /** Of the larger of the two. */
  readonly relative: number;
}

const HUNDREDTH: Rational = { numerator: 1n, denominator: 100n };

/** Returns the one text of a quantity; the same quantity is read from it again. */
export function formatQuantity({ value, isPercent }: Quantity): string {
  return `${formatRational(value)}${isPercent ? '%' : ''}`;
}

/**
 * Compares two quantities exactly: symmetric, and equal quantities match under any tolerance.
 *
 * Where only one has a percent sign, either reading of it counts: 50% matches 50, because questions that ask
 * for a percentage have targets without the sign, and 0.5, because that is its value. 50 and 0.5 differ.
 */
export function isWithin(a: Quantity, b: Quantity, tolerance: Tolerance): boolean {
  if (isClose(a.value, b.value, tolerance)) return true;
  if (a.isPercent === b.isPercent) return false;
  return isClose(toValue(a), toValue(b), tolerance);
}

function toValue({ value, isPercent }: Quantity): Rational {
  return isPercent ? multiply(value, HUNDREDTH) : value;
}

function isClose(a: Rational, b: Rational, tolerance: Tolerance): boolean {
  const difference = absolute(add(a, negate(b)));
  if (isAtMost(difference, rationalOf(tolerance.absolute))) return true;
  const larger = isAtMost(absolute(a), absolute(b)) ? absolute(b) : absolute(a);
  return isAtMost(difference, multiply(larger, rationalOf(tolerance.relative)));
}
