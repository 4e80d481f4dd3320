import type { StopSource } from './http-transport.ts';

/** The timeout of one call. The call stops when it expires or when the caller's signal aborts. */
export class CallTimeout implements StopSource {
  readonly #outer: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  #listener: () => void = () => undefined;
  isOver = false;

  constructor(timeoutMs: number, outer: AbortSignal) {
    this.#outer = outer;
    this.#timer = setTimeout(() => {
      this.isOver = true;
      this.#stop();
    }, timeoutMs);
    outer.addEventListener('abort', this.#stop);
  }

  /** A call has one listener: its request. */
  onStop(listener: () => void): void {
    this.#listener = listener;
    if (this.isOver || this.#outer.aborted) listener();
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#stop);
  }

  readonly #stop = () => this.#listener();
}
