import { createDecimal, type Rational } from './rational.ts';

/** Longer numbers are no answers, but would take long to compute with. */
const MAX_DIGITS = 1000;
/** The power of ten of the first digit; 1e999999999 would fill the memory. */
const MAX_MAGNITUDE = 10_000;

/** A way to write digits in groups. */
interface Style {
  readonly pattern: RegExp;
  readonly decimalSign: '.' | ',';
}

/** In order: the first style that fits is the one that is meant. */
const STYLES: readonly Style[] = [
  { pattern: /^\d*(?:\.\d+)?$/, decimalSign: '.' },
  // A leading zero is not that of thousands: 0,125.
  { pattern: /^0,\d+$/, decimalSign: ',' },
  { pattern: /^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/, decimalSign: '.' },
  { pattern: /^\d{1,3}(?:\.\d{3})+,\d+$/, decimalSign: ',' },
  { pattern: /^\d{1,3}(?:\.\d{3}){2,}$/, decimalSign: ',' },
  // Lakh and crore: 12,34,567.
  { pattern: /^\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?$/, decimalSign: '.' },
  { pattern: /^\d{1,3}(?: \d{3})+(?:\.\d+)?$/, decimalSign: '.' },
  { pattern: /^\d{1,3}(?: \d{3})+,\d+$/, decimalSign: ',' },
  { pattern: /^\d{1,3}(?:'\d{3})+(?:\.\d+)?$/, decimalSign: '.' },
  { pattern: /^\d{1,3}(?:'\d{3})+,\d+$/, decimalSign: ',' },
  { pattern: /^\d{1,3}(?:_\d{3})+(?:\.\d+)?$/, decimalSign: '.' },
  // Three digits after the comma would be thousands, unless too many stand before it.
  { pattern: /^\d+,\d+$/, decimalSign: ',' },
];

/**
 * Returns the value of digits with separators: "1,234.5", "1.234,5", "1 234", "1'234", "1_234", "12,34,567".
 *
 * "1,234" has thousands and "1.234" has decimals, as in English, because either could be meant; "1,5" has
 * decimals because nothing else fits.
 *
 * @param exponent - The power of ten that the digits are multiplied by.
 * @returns Undefined for digits that are no number, as in "1,2,3" and "10.0.0.1", or too large to compute with.
 */
export function readDigits(text: string, exponent = 0): Rational | undefined {
  const style = STYLES.find(({ pattern }) => pattern.test(text));
  if (style === undefined) return undefined;
  const [whole = '', decimals = ''] = text.split(style.decimalSign);
  const digits = `${whole}${decimals}`.replace(/\D/g, '').replace(/^0+(?=\d)/, '');
  const shift = exponent - decimals.length;
  const magnitude = digits.length - 1 + shift;
  if (digits.length > MAX_DIGITS || Math.abs(magnitude) > MAX_MAGNITUDE) return undefined;
  return createDecimal(digits, shift);
}
