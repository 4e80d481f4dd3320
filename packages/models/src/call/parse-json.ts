/** Deeper values overflow the stack of what reads them. No vendor nests a completion a tenth as deep. */
const MAX_DEPTH = 1_000;

/** Parses JSON from outside; undefined for a text that is no JSON, or is nested too deeply. */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  // A level takes two characters.
  return text.length > 2 * MAX_DEPTH && isTooDeep(value) ? undefined : value;
}

function isTooDeep(value: unknown, maxDepth = MAX_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (maxDepth === 0) return true;
  return Object.values(value).some((inner) => isTooDeep(inner, maxDepth - 1));
}
