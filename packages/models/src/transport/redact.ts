/**
 * Shorter keys are placeholders (`EMPTY`, `none`) for servers that need no key. Removing them would
 * change answers that contain the same word.
 */
const MIN_SECRET_CHARS = 8;
/** Vendors quote the beginning of a wrong key: this many characters of it are removed too. */
const MIN_PREFIX_CHARS = 12;
/** Shorter keys are only removed whole. */
const MIN_PREFIXED_KEY_CHARS = 16;

/** Removes a key from a text. */
export type Redact = (text: string) => string;

/** Creates a function that removes a key from texts, encoded or not; undefined if there is no key to protect. */
export function createRedact(key: string | undefined): Redact | undefined {
  if (key === undefined || key.length < MIN_SECRET_CHARS) return undefined;
  const forms = encodedForms(key);
  // A text may begin with the key as it is and go on with an encoded character.
  return (text) =>
    cutKey(
      forms.reduce((kept, form) => kept.replaceAll(form, '[key]'), text),
      key,
    );
}

/** The key as URLs, JSON texts and base64 have it. */
function encodedForms(key: string): readonly string[] {
  const forms = [encodeURIComponent(key), JSON.stringify(key).slice(1, -1)];
  if (key.length >= MIN_PREFIXED_KEY_CHARS) {
    for (const before of [0, 1, 2]) forms.push(...base64Within(key, before));
  }
  return [...new Set(forms)].filter((form) => form !== key);
}

/**
 * The characters of a base64 text that stand for a key and for nothing else, whatever surrounds it, as `Bearer ` does.
 *
 * @param before - Bytes before the key in its group of three.
 */
function base64Within(key: string, before: number): readonly string[] {
  const bytes = Buffer.from(`${'-'.repeat(before)}${key}`);
  const from = Math.ceil((before * 8) / 6);
  const to = Math.floor((bytes.length * 8) / 6);
  return (['base64', 'base64url'] as const).map((form) => bytes.toString(form).slice(from, to));
}

/** Removes the key from the strings of a JSON value, and from its property names. */
export function redactValue(value: unknown, redact: Redact | undefined): unknown {
  if (redact === undefined) return value;
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [redact(name), redactValue(inner, redact)]),
  );
}

/** Replaces the key with `[key]`, and so the beginning of a long key, as far as the text quotes it. */
function cutKey(text: string, key: string): string {
  if (key.length < MIN_PREFIXED_KEY_CHARS) return text.replaceAll(key, '[key]');
  const [head = '', ...tails] = text.split(key.slice(0, MIN_PREFIX_CHARS));
  return tails.reduce((cut, tail) => {
    let length = 0;
    while (length < tail.length && tail[length] === key[MIN_PREFIX_CHARS + length]) length += 1;
    return `${cut}[key]${tail.slice(length)}`;
  }, head);
}
