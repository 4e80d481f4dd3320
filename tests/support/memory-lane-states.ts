import type { Clock, LaneState, LaneStates } from '@thrice/core';

/** The records of lanes in memory. */
export class MemoryLaneStates implements LaneStates {
  readonly states = new Map<string, LaneState>();
  writeCount = 0;
  readonly #wait: () => Promise<void>;

  /** @param latency - How long each request takes, ms. @default no time */
  constructor(latency?: { readonly clock: Clock; readonly ms: number }) {
    this.#wait = async () => await latency?.clock.sleep(latency.ms);
  }

  async read(lane: string): Promise<LaneState | undefined> {
    await this.#wait();
    return this.states.get(lane);
  }

  async replace(lane: string, existing: LaneState | undefined, next: LaneState): Promise<boolean> {
    await this.#wait();
    if (this.states.get(lane)?.revision !== existing?.revision) return false;
    this.writeCount += 1;
    this.states.set(lane, next);
    return true;
  }
}
