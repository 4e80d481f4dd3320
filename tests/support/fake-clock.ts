import type { Clock } from '@thrice/core';

interface Sleeper {
  readonly dueAtMs: number;
  readonly finish: () => void;
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
      const finish = () => {
        signal?.removeEventListener('abort', finish);
        this.#sleepers.delete(sleeper);
        resolve();
      };
      const sleeper: Sleeper = { dueAtMs: this.#nowMs + delayMs, finish };
      signal?.addEventListener('abort', finish);
      this.#sleepers.add(sleeper);
    });
  }

  /** Advances the time and resolves the sleeps that are due, earliest first. */
  advance(ms: number): void {
    this.#nowMs += ms;
    const due = [...this.#sleepers].filter(({ dueAtMs }) => dueAtMs <= this.#nowMs);
    due.sort((left, right) => left.dueAtMs - right.dueAtMs);
    for (const { finish } of due) finish();
  }
}
