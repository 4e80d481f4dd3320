import type { Simulator } from '@thrice/simulator';
import { committedKeys } from './ledger-view.ts';

/**
 * Keeps account of what kills cost: which calls were in flight at each, and what was committed.
 *
 * A call is in flight at a kill if the server was asked since the kill before and no answer of it is
 * in the journal. All keys are those of the cell key header.
 */
export class KillAccount {
  readonly #folder: string;
  readonly #group: string;
  readonly #simulator: Simulator;
  /** Requests of each committed cell when a kill first found it committed. */
  readonly #committed = new Map<string, number>();
  readonly #inFlight = new Map<string, number>();
  #requestsBefore: ReadonlyMap<string, number> = new Map();

  /**
   * @param folder - What `--dir` names.
   * @param group - The group whose calls count; the server may have been asked for others.
   */
  constructor(folder: string, group: string, simulator: Simulator) {
    this.#folder = folder;
    this.#group = group;
    this.#simulator = simulator;
  }

  /**
   * Notes a kill, once the killed process is gone.
   *
   * @returns How many calls were in flight.
   */
  async note(): Promise<number> {
    const committed = committedKeys(this.#folder);
    const requests = await this.#requests();
    for (const key of committed) {
      if (!this.#committed.has(key)) this.#committed.set(key, requests.get(key) ?? 0);
    }
    const lost = [...requests].filter(
      ([key, count]) => !committed.has(key) && count > (this.#requestsBefore.get(key) ?? 0),
    );
    for (const [key] of lost) this.#inFlight.set(key, (this.#inFlight.get(key) ?? 0) + 1);
    this.#requestsBefore = requests;
    return lost.length;
  }

  /** Cells that were asked again although a kill had found their answer committed. */
  async askedAgain(): Promise<readonly string[]> {
    const requests = await this.#requests();
    return [...this.#committed].flatMap(([key, before]) =>
      requests.get(key) === before ? [] : [key],
    );
  }

  /** Cells that were not asked once, and once more for each kill that they were in flight at. */
  async unexplained(): Promise<readonly string[]> {
    const requests = await this.#requests();
    return [...requests].flatMap(([key, count]) =>
      count === 1 + (this.#inFlight.get(key) ?? 0) ? [] : [`${key}: ${count} requests`],
    );
  }

  async #requests(): Promise<ReadonlyMap<string, number>> {
    // One more exchange: what a dead client had sent by now is read before it.
    await (await fetch(this.#simulator.url.replace(/v1$/, 'thrice/stats'))).arrayBuffer();
    const counts = this.#simulator.stats().requestsByQuestion;
    return new Map(
      [...counts].flatMap(([key, { requests }]): [string, number][] =>
        key.startsWith(`${this.#group}-r`) ? [[key, requests]] : [],
      ),
    );
  }
}

/** A random number generator with a seed, uniform in 0..1 (mulberry32). */
export function seededDraw(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
