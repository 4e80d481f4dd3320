import type { Clock } from '@thrice/core';

/** The clock of one process, which can be set. */
export class SetClock implements Clock {
  readonly #clock: Clock;
  offsetMs: number;

  constructor(clock: Clock, offsetMs = 0) {
    this.#clock = clock;
    this.offsetMs = offsetMs;
  }

  now(): number {
    return this.#clock.now() + this.offsetMs;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  toIso(atMs: number): string {
    return this.#clock.toIso(atMs);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return this.#clock.sleep(delayMs, signal);
  }
}
