/** Values that are deeper nested come from a mistake, and would overflow the stack of what goes through them. */
const MAX_DEPTH = 100;
const FENCED = /```[\w-]*\n(.*?)```/gsu;

/** A value that was found in a text. */
export interface FoundJson {
  readonly value: unknown;
}

/**
 * Finds the JSON that a model answers with: the whole text, or else its last fenced block that is JSON, or else what is
 * between its first opening and its last closing brace or square bracket.
 *
 * @returns Undefined for a text without, and for one that is nested more than 100 deep.
 */
export function findJson(text: string): FoundJson | undefined {
  const whole = parseJson(text);
  if (whole !== undefined) return whole;
  const blocks = [...text.matchAll(FENCED)].map(([, block = '']) => block);
  const fenced = blocks.map(parseJson).findLast((found) => found !== undefined);
  return fenced ?? parseBetween(text, '{', '}') ?? parseBetween(text, '[', ']');
}

function parseBetween(text: string, opening: string, closing: string): FoundJson | undefined {
  const [from, to] = [text.indexOf(opening), text.lastIndexOf(closing)];
  return from === -1 || to < from ? undefined : parseJson(text.slice(from, to + 1));
}

/** Parses a text that is nothing but JSON; undefined for any other, and for one that is nested more than 100 deep. */
export function parseJson(text: string): FoundJson | undefined {
  try {
    const value: unknown = JSON.parse(text, keepDigits);
    return isTooDeep(value) ? undefined : { value };
  } catch {
    return undefined;
  }
}

/**
 * A whole number with more digits than JavaScript keeps becomes a `bigint`, so that it equals no other.
 *
 * @param context - Of ECMAScript 2026: the number as it was written.
 */
function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  if (typeof value !== 'number' || source === undefined || Number.isSafeInteger(value))
    return value;
  return /^-?\d+$/.test(source) ? BigInt(source) : value;
}

function isTooDeep(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return depth >= MAX_DEPTH || Object.values(value).some((item) => isTooDeep(item, depth + 1));
}

/** Writes a value that was found back as JSON. */
export function toJsonText(value: unknown): string {
  const text = JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'bigint' ? String(item) : item,
  );
  return typeof value === 'bigint' ? String(value) : text;
}
