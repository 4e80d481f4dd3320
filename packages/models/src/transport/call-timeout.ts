import type { StopSource } from './http-transport.ts';

/** The timeout of one call. The call stops when it expires or when the caller's signal aborts. */
export class CallTimeout implements StopSource {
  readonly #outer: AbortSignal;
  readonly #timeoutMs: number;
  #timer: NodeJS.Timeout;
  #listener: () => void = () => undefined;
  isOver = false;

  constructor(timeoutMs: number, outer: AbortSignal) {
    this.#outer = outer;
    this.#timeoutMs = timeoutMs;
    this.#timer = this.#start();
    outer.addEventListener('abort', this.#stop);
  }

  /** A call has one listener: its request. */
  onStop(listener: () => void): void {
    this.#listener = listener;
    if (this.isOver || this.#outer.aborted) listener();
  }

  /** Gives the call its whole time again. */
  restart(): void {
    clearTimeout(this.#timer);
    if (!this.isOver) this.#timer = this.#start();
  }

  /** Stops the time until {@link restart}. */
  hold(): void {
    clearTimeout(this.#timer);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#stop);
  }

  #start(): NodeJS.Timeout {
    return setTimeout(() => {
      this.isOver = true;
      this.#stop();
    }, this.#timeoutMs);
  }

  readonly #stop = () => this.#listener();
}
