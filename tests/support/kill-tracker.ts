import type { Simulator } from '@thrice/simulator';
import { committedKeys } from './ledger-view.ts';

/**
 * Tracks the cost of kills: the calls in flight at each kill, and the calls committed before it.
 *
 * A call is in flight at a kill if the server received its request since the previous kill and the
 * journal has no answer for it. Keys are those of the cell key header.
 */
export class KillTracker {
  readonly #folder: string;
  readonly #group: string;
  readonly #simulator: Simulator;
  /** Request counts of committed cells at the first kill that found them committed. */
  readonly #committedRequests = new Map<string, number>();
  readonly #inFlight = new Map<string, number>();
  #requestsBefore: ReadonlyMap<string, number> = new Map();

  /**
   * @param folder - The `--dir` of the run.
   * @param group - The group whose calls count; the server may have served other groups.
   */
  constructor(folder: string, group: string, simulator: Simulator) {
    this.#folder = folder;
    this.#group = group;
    this.#simulator = simulator;
  }

  /**
   * Records a kill. Call it after the killed process has exited.
   *
   * @returns The number of calls in flight.
   */
  async recordKill(): Promise<number> {
    const committed = committedKeys(this.#folder);
    const requests = await this.#requests();
    for (const key of committed) {
      if (!this.#committedRequests.has(key))
        this.#committedRequests.set(key, requests.get(key) ?? 0);
    }
    const lost = [...requests].filter(
      ([key, count]) => !committed.has(key) && count > (this.#requestsBefore.get(key) ?? 0),
    );
    for (const [key] of lost) this.#inFlight.set(key, (this.#inFlight.get(key) ?? 0) + 1);
    this.#requestsBefore = requests;
    return lost.length;
  }

  /** Cells that were asked again although their answer was committed at a kill. */
  async repeatedCells(): Promise<readonly string[]> {
    const requests = await this.#requests();
    return [...this.#committedRequests].flatMap(([key, before]) =>
      requests.get(key) === before ? [] : [key],
    );
  }

  /** Cells whose request count is not 1 plus the number of kills at which they were in flight. */
  async unexplainedRequests(): Promise<readonly string[]> {
    const requests = await this.#requests();
    return [...requests].flatMap(([key, count]) =>
      count === 1 + (this.#inFlight.get(key) ?? 0) ? [] : [`${key}: ${count} requests`],
    );
  }

  async #requests(): Promise<ReadonlyMap<string, number>> {
    // One more request: the server reads everything the killed client had sent before it.
    await (await fetch(this.#simulator.url.replace(/v1$/, 'thrice/stats'))).arrayBuffer();
    const counts = this.#simulator.stats().requestsByQuestion;
    return new Map(
      [...counts].flatMap(([key, { requests }]): [string, number][] =>
        key.startsWith(`${this.#group}-r`) ? [[key, requests]] : [],
      ),
    );
  }
}

/** A seeded random number generator, uniform in 0 <= x < 1 (mulberry32). */
export function seededDraw(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
