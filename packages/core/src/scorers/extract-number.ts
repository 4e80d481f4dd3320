const NUMBER =
  /[-+−]?(?:(?:\d{1,3}(?:[,\u202f\u00a0]\d{3})+(?!\d)|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?/gu;
const ONLY_NUMBER = new RegExp(`^(?:\\p{Sc}\\s*)?(?:${NUMBER.source})\\s*[%\\p{Sc}]?$`, 'u');

/**
 * Returns the last number in a text as plain digits, without thousands separators.
 *
 * A sign counts only if no letter, digit or closing bracket precedes it, so "10-4" ends in 4.
 *
 * @returns Undefined for a text without a number.
 */
export function extractNumber(text: string): string | undefined {
  let match: RegExpExecArray | undefined;
  // Not an array of all: a text of a million numbers would fill the memory.
  for (const each of text.matchAll(NUMBER)) match = each;
  if (match === undefined) return undefined;
  const before = text[match.index - 1] ?? ' ';
  const digits = match[0]
    .replace(/[,\u202f\u00a0]/g, '')
    .replace('−', '-')
    .replace(/\.$/, '');
  return /^[-+]/.test(digits) && /[\p{L}\p{N})\]]/u.test(before) ? digits.slice(1) : digits;
}

/**
 * Returns whether a text is a single number, with at most a currency or percent sign beside it.
 *
 * Texts such as "1/2", "1,5" and "-$5" are not: {@link extractNumber} would read only a part of them.
 */
export function isOnlyNumber(text: string): boolean {
  return ONLY_NUMBER.test(text.trim()) && Number.isFinite(parseNumber(text));
}

/** Returns the value of the number that {@link extractNumber} finds. */
export function parseNumber(text: string): number | undefined {
  const digits = extractNumber(text);
  return digits === undefined ? undefined : Number(digits);
}
