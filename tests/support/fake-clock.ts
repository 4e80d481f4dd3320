import type { Clock } from '@thrice/core';

interface Sleeper {
  readonly wakeAtMs: number;
  readonly wake: () => void;
}

/** A clock that advances only when told to. */
export class FakeClock implements Clock {
  readonly #sleepers = new Set<Sleeper>();
  #nowMs: number;

  constructor(startIso = '2026-01-02T03:04:05.000Z') {
    this.#nowMs = Date.parse(startIso);
  }

  /** The number of pending sleeps. */
  get sleeperCount(): number {
    return this.#sleepers.size;
  }

  now(): number {
    return this.#nowMs;
  }

  toIso(atMs: number): string {
    return new Date(atMs).toISOString();
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        signal?.removeEventListener('abort', wake);
        this.#sleepers.delete(sleeper);
        resolve();
      };
      const sleeper: Sleeper = { wakeAtMs: this.#nowMs + delayMs, wake };
      signal?.addEventListener('abort', wake);
      this.#sleepers.add(sleeper);
    });
  }

  /** Advances the time and resolves the sleeps that are due, earliest first. */
  advance(ms: number): void {
    this.#nowMs += ms;
    const due = [...this.#sleepers].filter(({ wakeAtMs }) => wakeAtMs <= this.#nowMs);
    due.sort((left, right) => left.wakeAtMs - right.wakeAtMs);
    for (const { wake } of due) wake();
  }
}
