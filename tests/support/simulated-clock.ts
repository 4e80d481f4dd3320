import type { Clock } from '@thrice/core';

interface Sleeper {
  readonly dueAtMs: number;
  readonly no: number;
  readonly finish: () => void;
  isOver: boolean;
}

/** A clock whose time passes from one due sleep to the next: for tests with thousands of sleepers. */
export class SimulatedClock implements Clock {
  /** A binary heap, by due time and order. */
  readonly #heap: Sleeper[] = [];
  #no = 0;
  #monotonicMs = 0;
  /** The wall clock less monotonic time. */
  offsetMs = Date.UTC(2026, 0, 2);

  now(): number {
    return this.#monotonicMs + this.offsetMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  toIso(atMs: number): string {
    return new Date(atMs).toISOString();
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const finish = () => {
        if (sleeper.isOver) return;
        sleeper.isOver = true;
        signal?.removeEventListener('abort', finish);
        resolve();
      };
      const dueAtMs = this.#monotonicMs + Math.max(0, delayMs);
      const sleeper: Sleeper = { dueAtMs, no: this.#no, finish, isOver: false };
      this.#no += 1;
      signal?.addEventListener('abort', finish);
      this.#push(sleeper);
    });
  }

  /** Lets time pass until `untilMs`, monotonic: after each sleep that ends, whatever waits for it goes on first. */
  async run(untilMs: number): Promise<void> {
    for (;;) {
      await new Promise(setImmediate);
      const next = this.#pop();
      if (next === undefined || next.dueAtMs > untilMs) {
        if (next !== undefined) this.#push(next);
        this.#monotonicMs = Math.max(this.#monotonicMs, untilMs);
        return;
      }
      this.#monotonicMs = Math.max(this.#monotonicMs, next.dueAtMs);
      next.finish();
    }
  }

  #push(sleeper: Sleeper): void {
    const heap = this.#heap;
    heap.push(sleeper);
    let at = heap.length - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #pop(): Sleeper | undefined {
    const heap = this.#heap;
    for (;;) {
      const [first] = heap;
      const last = heap.pop();
      if (first === undefined || last === undefined) return undefined;
      if (heap.length > 0) {
        heap[0] = last;
        this.#sink();
      }
      if (!first.isOver) return first;
    }
  }

  #sink(): void {
    let at = 0;
    for (;;) {
      const children = [2 * at + 1, 2 * at + 2].filter((child) => child < this.#heap.length);
      const [least] = children.toSorted((left, right) => (this.#isBefore(left, right) ? -1 : 1));
      if (least === undefined || !this.#isBefore(least, at)) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #isBefore(left: number, right: number): boolean {
    const [a, b] = [this.#heap[left], this.#heap[right]];
    if (a === undefined || b === undefined) return false;
    return a.dueAtMs === b.dueAtMs ? a.no < b.no : a.dueAtMs < b.dueAtMs;
  }

  #swap(left: number, right: number): void {
    const [a, b] = [this.#heap[left], this.#heap[right]];
    if (a === undefined || b === undefined) return;
    this.#heap[left] = b;
    this.#heap[right] = a;
  }
}
