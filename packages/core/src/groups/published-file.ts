import type { BlobStore } from '../ports/blob-store.ts';

/** Characters of a line that a mismatch shows. */
const SHOWN_CHARS = 160;

/** The lines of a published file, one at a time, beside those that the records give. */
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

  /** The number of the line that was read last, from 1. */
  get lineNumber(): number {
    return this.#lineNumber;
  }

  /** Whether {@link next} has found the end. */
  get isAtEnd(): boolean {
    return this.#isAtEnd;
  }

  /** The next line; undefined at the end. */
  async next(): Promise<string | undefined> {
    const result = await this.#lines.next();
    this.#lineNumber += 1;
    this.#isAtEnd = result.done === true;
    return result.done === true ? undefined : result.value;
  }

  /** Compares the next line; after the first difference nothing more is read or reported. */
  async expect(line: string | undefined): Promise<void> {
    if (this.#differs) return;
    const published = await this.next();
    if (published === line) return;
    this.#differs = true;
    this.#report(
      `${this.#key}:${this.#lineNumber}: published ${show(published)}, recomputed ${show(line)}`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#lines.return?.();
  }
}

/** A published JSON array of one line an item, as `jsonArray` writes it. */
export class PublishedArray implements AsyncDisposable {
  readonly #file: PublishedFile;
  /** What a comma follows if another item comes. */
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

function show(line: string | undefined): string {
  if (line === undefined) return 'nothing';
  return line.length > SHOWN_CHARS ? `${line.slice(0, SHOWN_CHARS)}...` : line;
}
