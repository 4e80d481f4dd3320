import type { BlobStore } from '../ports/blob-store.ts';

/** The maximum number of characters of a line that a mismatch quotes. */
const SHOWN_CHARS = 160;

/** Compares a published file, line by line, with the lines recomputed from the records. */
export class PublishedFile implements AsyncDisposable {
  readonly #key: string;
  readonly #lines: AsyncIterator<string>;
  readonly #report: (mismatch: string) => void;
  #lineNumber = 0;
  #isAtEnd = false;
  #differs = false;

  constructor(blobs: BlobStore, key: string, report: (mismatch: string) => void) {
    this.#key = key;
    this.#lines = blobs.readLines(key)[Symbol.asyncIterator]();
    this.#report = report;
  }

  /** The number of the last line read, starting at 1. */
  get lineNumber(): number {
    return this.#lineNumber;
  }

  /** Whether {@link next} has reached the end. */
  get isAtEnd(): boolean {
    return this.#isAtEnd;
  }

  /** Reads the next line; undefined at the end. */
  async next(): Promise<string | undefined> {
    const result = await this.#lines.next();
    this.#lineNumber += 1;
    this.#isAtEnd = result.done === true;
    return result.done === true ? undefined : result.value;
  }

  /** Compares the next line. After the first difference it reads and reports nothing more. */
  async expect(line: string | undefined): Promise<void> {
    if (this.#differs) return;
    const published = await this.next();
    if (published === line) return;
    this.#differs = true;
    this.#report(
      `${this.#key}:${this.#lineNumber}: published ${quote(published)}, recomputed ${quote(line)}`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lines.return?.();
  }
}

/** A published JSON array with one item per line, as written by `jsonArray`. */
export class PublishedArray implements AsyncDisposable {
  readonly #file: PublishedFile;
  /** The last item, held back because a comma follows it unless it is the last of the array. */
  #last: string | undefined;

  constructor(file: PublishedFile) {
    this.#file = file;
  }

  async add(item: object | undefined): Promise<void> {
    if (item === undefined) return;
    await this.#file.expect(this.#last === undefined ? '[' : `${this.#last},`);
    this.#last = `  ${JSON.stringify(item)}`;
  }

  async end(): Promise<void> {
    const lines = this.#last === undefined ? ['[]'] : [this.#last, ']'];
    for (const line of [...lines, undefined]) await this.#file.expect(line);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file[Symbol.asyncDispose]();
  }
}

function quote(line: string | undefined): string {
  if (line === undefined) return 'nothing';
  return line.length > SHOWN_CHARS ? `${line.slice(0, SHOWN_CHARS)}...` : line;
}
