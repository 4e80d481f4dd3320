/** A value that Python printed inside a text, and where it ends. */
export interface ReprValue {
  readonly value: unknown;
  /** Offset of the first character after it; the length of the text where it breaks off or cannot be read on. */
  readonly end: number;
}

/** Deeper values are not read. */
const MAX_DEPTH = 16;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };
const ATOM = /(?:[Tt]rue|[Ff]alse|None|null|-?\d[\d.eE+-]*)(?![\w.])/y;

/**
 * Reads a dict, list or tuple as Python prints it, or JSON that breaks off: `{'error': {'code': 429, 'param': None}}`.
 *
 * Proxies written in Python pass errors on in this form, and repeat requests in it. What follows the first thing that
 * no literal contains is not read. Takes linear time and never throws.
 *
 * @param start - Offset of its first character.
 */
export function parseRepr(text: string, start: number): ReprValue {
  const reader = new ReprReader(text, start);
  const value = reader.readValue(0);
  return { value, end: reader.isBroken ? text.length : reader.offset };
}

class ReprReader {
  readonly #text: string;
  offset: number;
  isBroken = false;

  constructor(text: string, offset: number) {
    this.#text = text;
    this.offset = offset;
  }

  readValue(depth: number): unknown {
    this.#skipSpace();
    const char = this.#text[this.offset];
    if (depth > MAX_DEPTH || char === undefined) return this.#break();
    if (char === '{') return this.#readDict(depth);
    if (char === '[') return this.#readItems(']', depth);
    if (char === '(') return this.#readItems(')', depth);
    if (char === "'" || char === '"') return this.#readString(char);
    return this.#readAtom();
  }

  #readDict(depth: number): Readonly<Record<string, unknown>> {
    const entries: [string, unknown][] = [];
    this.offset += 1;
    while (!this.isBroken && !this.#skip('}')) {
      const key = this.readValue(depth + 1);
      if (!this.#skip(':')) this.#break();
      if (this.isBroken) break;
      entries.push([String(key), this.readValue(depth + 1)]);
      if (!this.#skip(',') && !this.#isNext('}')) this.#break();
    }
    return Object.fromEntries(entries);
  }

  #readItems(close: string, depth: number): readonly unknown[] {
    const items: unknown[] = [];
    this.offset += 1;
    while (!this.isBroken && !this.#skip(close)) {
      items.push(this.readValue(depth + 1));
      if (!this.#skip(',') && !this.#isNext(close)) this.#break();
    }
    return items;
  }

  #readString(quote: string): string {
    let read = '';
    this.offset += 1;
    for (; this.offset < this.#text.length; this.offset += 1) {
      const char = this.#text[this.offset] ?? '';
      if (char === quote) {
        this.offset += 1;
        return read;
      }
      if (char === '\\') this.offset += 1;
      const escaped = this.#text[this.offset] ?? '';
      read += char === '\\' ? (ESCAPES[escaped] ?? escaped) : char;
    }
    this.#break();
    return read;
  }

  #readAtom(): unknown {
    ATOM.lastIndex = this.offset;
    const atom = ATOM.exec(this.#text)?.[0];
    if (atom === undefined) return this.#break();
    this.offset += atom.length;
    if (/^n/i.test(atom)) return null;
    return /^[tf]/i.test(atom) ? /^t/i.test(atom) : Number(atom);
  }

  #skip(char: string): boolean {
    if (!this.#isNext(char)) return false;
    this.offset += 1;
    return true;
  }

  #isNext(char: string): boolean {
    this.#skipSpace();
    return this.#text[this.offset] === char;
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text[this.offset] ?? '')) this.offset += 1;
  }

  #break(): undefined {
    this.isBroken = true;
    return undefined;
  }
}
