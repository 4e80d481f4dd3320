/** An exact number; not necessarily in lowest terms. */
export interface Rational {
  readonly numerator: bigint;
  /** Positive. */
  readonly denominator: bigint;
}

/** More zeros than this at the end of a number are written as a power of ten. */
const MAX_ZEROS = 20;
/** The same for zeros after a decimal point. */
const MAX_LEADING_ZEROS = 6;
/** A fraction whose decimal has more digits stays a fraction. */
const MAX_DECIMAL_DIGITS = 900;

/** Returns the value of a decimal: digits times a power of ten. */
export function createDecimal(digits: string, exponent: number): Rational {
  const numerator = BigInt(digits);
  return exponent >= 0
    ? { numerator: numerator * 10n ** BigInt(exponent), denominator: 1n }
    : { numerator, denominator: 10n ** BigInt(-exponent) };
}

/**
 * Returns the decimal that a finite number of JavaScript stands for: its shortest text, so that 0.1 is
 * exactly one tenth.
 */
export function rationalOf(value: number): Rational {
  const [, whole = '', decimals = '', exponent = '0'] =
    /^(-?\d+)(?:\.(\d+))?(?:e([-+]\d+))?$/.exec(String(value)) ?? [];
  return createDecimal(whole + decimals, Number(exponent) - decimals.length);
}

/** Returns the sum of two numbers. */
export function add(a: Rational, b: Rational): Rational {
  return {
    numerator: a.numerator * b.denominator + b.numerator * a.denominator,
    denominator: a.denominator * b.denominator,
  };
}

/** Returns the product of two numbers. */
export function multiply(a: Rational, b: Rational): Rational {
  return {
    numerator: a.numerator * b.numerator,
    denominator: a.denominator * b.denominator,
  };
}

/** Returns the quotient of two numbers; undefined for a division by zero. */
export function divide(a: Rational, b: Rational): Rational | undefined {
  if (b.numerator === 0n) return undefined;
  const sign = b.numerator < 0n ? -1n : 1n;
  return {
    numerator: a.numerator * b.denominator * sign,
    denominator: a.denominator * b.numerator * sign,
  };
}

/** Returns the number with the other sign. */
export function negate({ numerator, denominator }: Rational): Rational {
  return { numerator: -numerator, denominator };
}

/** Returns the number without its sign. */
export function absolute(value: Rational): Rational {
  return value.numerator < 0n ? negate(value) : value;
}

/** Returns whether the first number is at most the second. */
export function isAtMost(a: Rational, b: Rational): boolean {
  return a.numerator * b.denominator <= b.numerator * a.denominator;
}

/**
 * Returns the one text of a number: a decimal where it has an end, as in "-0.125" and "6.02e23", else a
 * fraction in lowest terms, as in "1/3". Equal numbers have equal texts.
 */
export function formatRational(value: Rational): string {
  const divisor = greatestCommonDivisor(absolute(value).numerator, value.denominator);
  const numerator = value.numerator / divisor;
  const denominator = value.denominator / divisor;
  const places = countDecimalPlaces(denominator);
  if (places === undefined) return `${numerator}/${denominator}`;
  const digits = String((numerator * 10n ** BigInt(places)) / denominator);
  if (digits.length > MAX_DECIMAL_DIGITS && places > 0) return `${numerator}/${denominator}`;
  return places === 0 ? formatWhole(digits) : formatDecimal(digits, places);
}

function formatWhole(digits: string): string {
  const significant = dropTrailingZeros(digits);
  const zeroCount = digits.length - significant.length;
  return zeroCount > MAX_ZEROS ? formatScientific(significant, zeroCount) : digits;
}

/** A pattern such as /0+$/ takes quadratic time on long runs of zeros inside a number. */
function dropTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 1 && digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

function formatDecimal(digits: string, places: number): string {
  const sign = digits.startsWith('-') ? '-' : '';
  const unsigned = digits.slice(sign.length);
  if (places - unsigned.length > MAX_LEADING_ZEROS) return formatScientific(digits, -places);
  const padded = unsigned.padStart(places + 1, '0');
  return `${sign}${padded.slice(0, -places)}.${padded.slice(-places)}`;
}

function formatScientific(digits: string, exponent: number): string {
  const [, sign = '', first = '', rest = ''] = /^(-?)(\d)(\d*)$/.exec(digits) ?? [];
  const decimals = rest === '' ? '' : `.${rest}`;
  return `${sign}${first}${decimals}e${exponent + rest.length}`;
}

/** The decimal places of a fraction with this denominator; undefined if they have no end. */
function countDecimalPlaces(denominator: bigint): number | undefined {
  let rest = denominator;
  const counts = [2n, 5n].map((factor) => {
    let count = 0;
    for (; rest % factor === 0n; count += 1) rest /= factor;
    return count;
  });
  return rest === 1n ? Math.max(...counts) : undefined;
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [larger, smaller] = [a, b];
  while (smaller !== 0n) [larger, smaller] = [smaller, larger % smaller];
  return larger;
}
