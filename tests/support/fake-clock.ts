import type { Clock } from '@thrice/core';

interface Sleeper {
  readonly dueAtMs: number;
  readonly finish: () => void;
}

/** A clock that advances only when told to. Sleeps follow its monotonic time, as the timers of a machine do. */
export class FakeClock implements Clock {
  readonly #sleepers = new Set<Sleeper>();
  #nowMs: number;
  #monotonicMs = 0;

  constructor(startIso = '2026-01-02T03:04:05.000Z') {
    this.#nowMs = Date.parse(startIso);
  }

  /** The number of pending sleeps. */
  get sleeperCount(): number {
    return this.#sleepers.size;
  }

  /** Time until the next pending sleep ends, ms; undefined if there is none. */
  get nextDueInMs(): number | undefined {
    if (this.#sleepers.size === 0) return undefined;
    const dueAtMs = Math.min(...[...this.#sleepers].map((sleeper) => sleeper.dueAtMs));
    return Math.max(0, dueAtMs - this.#monotonicMs);
  }

  now(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  /** Sets the wall clock, as a user or a time server does; monotonic time and sleeps do not change. */
  setWallClock(nowMs: number): void {
    this.#nowMs = nowMs;
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
      const sleeper: Sleeper = { dueAtMs: this.#monotonicMs + delayMs, finish };
      signal?.addEventListener('abort', finish);
      this.#sleepers.add(sleeper);
    });
  }

  /** Advances the time and resolves the sleeps that are due, earliest first. */
  advance(ms: number): void {
    this.#nowMs += ms;
    this.#monotonicMs += ms;
    const due = [...this.#sleepers].filter(({ dueAtMs }) => dueAtMs <= this.#monotonicMs);
    due.sort((left, right) => left.dueAtMs - right.dueAtMs);
    for (const { finish } of due) finish();
  }
}
