const NUMBER =
  /[-+−]?(?:(?:\d{1,3}(?:[,\u202f\u00a0]\d{3})+(?!\d)|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?/gu;

/**
 * The last number a text states, as plain digits: separators of thousands are dropped.
 *
 * A sign counts only where no letter, digit or bracket stands before it, so "10-4" ends in 4.
 *
 * @returns Undefined when the text holds no number.
 */
export function extractNumber(text: string): string | undefined {
  const found = [...text.matchAll(NUMBER)].at(-1);
  if (found === undefined) return undefined;
  const before = text[found.index - 1] ?? ' ';
  const digits = found[0]
    .replace(/[,\u202f\u00a0]/g, '')
    .replace('−', '-')
    .replace(/\.$/, '');
  return /^[-+]/.test(digits) && /[\p{L}\p{N})\]]/u.test(before) ? digits.slice(1) : digits;
}

const LONE = new RegExp(`^(?:\\p{Sc}\\s*)?(?:${NUMBER.source})\\s*[%\\p{Sc}]?$`, 'u');

/**
 * Whether a text is one number and nothing else, but for a currency sign or a percent sign.
 *
 * What looks like more ("1/2", "1,5", "-$5") is not: {@link extractNumber} would read a part of it.
 */
export function isLoneNumber(text: string): boolean {
  return LONE.test(text.trim()) && Number.isFinite(parseNumber(text));
}

/** A text as a number: what {@link extractNumber} finds in it. */
export function parseNumber(text: string): number | undefined {
  const digits = extractNumber(text);
  return digits === undefined ? undefined : Number(digits);
}
