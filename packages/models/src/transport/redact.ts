/**
 * Shorter keys are placeholders (`EMPTY`, `none`) for servers that need none: cutting those out would
 * change answers.
 */
const MIN_SECRET_CHARS = 8;
/** Vendors quote the beginning of a wrong key: so much of it, of a key so long, is cut out too. */
const MIN_PREFIX_CHARS = 12;
const MIN_PREFIXED_KEY_CHARS = 16;

/** Cuts a key out of a text. */
export type Redact = (text: string) => string;

/** Cuts a key out of texts; undefined where there is no key to protect. */
export function createRedact(key: string | undefined): Redact | undefined {
  if (key === undefined || key.length < MIN_SECRET_CHARS) return undefined;
  return (text) => cutKey(text, key);
}

/** A JSON value without the key, in property names too. */
export function redactValue(value: unknown, redact: Redact | undefined): unknown {
  if (redact === undefined) return value;
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [redact(name), redactValue(inner, redact)]),
  );
}

/** Puts `[key]` for the key, and for as much of a long key's beginning as a text holds. */
function cutKey(text: string, key: string): string {
  if (key.length < MIN_PREFIXED_KEY_CHARS) return text.replaceAll(key, '[key]');
  const [head = '', ...tails] = text.split(key.slice(0, MIN_PREFIX_CHARS));
  return tails.reduce((cut, tail) => {
    let length = 0;
    while (length < tail.length && tail[length] === key[MIN_PREFIX_CHARS + length]) length += 1;
    return `${cut}[key]${tail.slice(length)}`;
  }, head);
}
