import type { BlobStore } from '../ports/blob-store.ts';

/** Text is handed on in pieces of about this many characters. */
const PIECE_CHARS = 64 * 1024;

/** What the store waits for: the next piece, or the end. */
interface Request {
  readonly resolve: (piece: IteratorResult<string, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Writes a blob piece by piece, so that several can be written side by side from one pass over the rows.
 *
 * Holds one piece at most: {@link add} waits until the store has taken the one before. The blob is replaced
 * when {@link end} resolves; a writer that is disposed of before leaves the old blob as it was.
 */
export class BlobWriter implements AsyncDisposable {
  readonly #written: Promise<void>;
  #text = '';
  #request: Request | undefined;
  /** Resolves the wait of {@link add} for the store's next request. */
  #onRequest: (() => void) | undefined;
  #state: 'open' | 'ended' | 'settled' = 'open';

  constructor(blobs: BlobStore, key: string) {
    const pieces: AsyncIterator<string, undefined> = { next: () => this.#next() };
    this.#written = blobs.write(key, { [Symbol.asyncIterator]: () => pieces }).finally(() => {
      this.#state = 'settled';
      this.#onRequest?.();
    });
    // An error is reported by `add` and `end`; there may be no such call in progress yet.
    this.#written.catch(() => undefined);
  }

  /**
   * Adds text.
   *
   * @returns A promise to wait for; undefined if there is no need to wait.
   * @throws {ThriceError} What the store throws.
   */
  add(text: string): Promise<void> | undefined {
    this.#text += text;
    return this.#text.length < PIECE_CHARS ? undefined : this.#handOn();
  }

  /** Writes the rest and waits until the blob is stored. */
  async end(): Promise<void> {
    if (this.#text !== '') await this.#handOn();
    this.#state = this.#state === 'open' ? 'ended' : this.#state;
    this.#request?.resolve({ done: true, value: undefined });
    await this.#written;
  }

  async #handOn(): Promise<void> {
    const isRequested = () => this.#request !== undefined || this.#state === 'settled';
    while (!isRequested()) {
      await new Promise<void>((resolve) => {
        this.#onRequest = resolve;
      });
    }
    if (this.#state === 'settled') return await this.#written;
    const request = this.#request;
    this.#request = undefined;
    const value = this.#text;
    this.#text = '';
    request?.resolve({ done: false, value });
  }

  #next(): Promise<IteratorResult<string, undefined>> {
    if (this.#state !== 'open') return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#request = { resolve, reject };
      this.#onRequest?.();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    while (this.#state === 'open') {
      if (this.#request !== undefined) {
        this.#state = 'ended';
        this.#request.reject(abandoned);
        break;
      }
      await new Promise<void>((resolve) => {
        this.#onRequest = resolve;
      });
    }
    await this.#written.catch(() => undefined);
  }
}

/** What the store sees of a writer that was disposed of before its end; nothing else does. */
const abandoned = new Error('the writer was abandoned');
