import { showPath } from '../describe-issues.ts';
import { describeJsonError } from '../describe-json-error.ts';

/** A row that is deeper nested comes from a mistake, and would overflow the stack of what goes through it. */
const MAX_DEPTH = 100;
/** What JavaScript may read as another number: many digits, or a large exponent. */
const LONG_NUMBER = /\d{16}|\d[eE][+-]?\d{3}/;

/** A parsed text, or why it has no value. */
export type RowJson =
  | { readonly value: unknown; readonly error?: never }
  | { readonly value?: never; readonly error: string };

/**
 * Parses JSON that users wrote. A whole number with more digits than JavaScript keeps becomes a text of all its digits.
 *
 * @param isQuestion - Whether the text is a line of a file that has a question on each.
 */
export function parseRowJson(text: string, isQuestion = false): RowJson {
  try {
    return { value: LONG_NUMBER.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text) };
  } catch (error) {
    if (error instanceof RangeError) return { error: TOO_DEEP };
    return { error: describeJsonError(error, text, isQuestion) };
  }
}

const TOO_DEEP = `nested more than ${MAX_DEPTH} deep`;

/** @param context - Of ECMAScript 2026: the number as it was written. */
function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined) return value;
  return /^-?\d{16,}$/.test(source) && String(value) !== source ? source : value;
}

/** Says what in a row would be sent, stored or compared as something else; undefined for nothing. */
export function findBadValue(
  value: unknown,
  path: readonly PropertyKey[] = [],
): string | undefined {
  if (typeof value === 'object' && value !== null) return findBadItem(value, path);
  const problem = describeBadLeaf(value);
  if (problem === undefined || path.length === 0) return problem;
  return `${showPath(path)}: ${problem}`;
}

function findBadItem(table: object, path: readonly PropertyKey[]): string | undefined {
  if (path.length >= MAX_DEPTH) {
    return `${showPath(path.slice(0, 1))}: expected values at most ${MAX_DEPTH} deep, received deeper ones`;
  }
  for (const [key, item] of Object.entries(table)) {
    const problem = findBadValue(item, [...path, Array.isArray(table) ? Number(key) : key]);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function describeBadLeaf(value: unknown): string | undefined {
  if (typeof value === 'number' && !Number.isFinite(value))
    return 'expected a number below 1.8e308, received a larger one; write it as a text';
  if (typeof value === 'string' && !value.isWellFormed())
    return 'expected whole characters, received half of one (a "\\ud83d" without its other half); UTF-8 cannot hold it';
  return undefined;
}
