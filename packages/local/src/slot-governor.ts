import { type Clock, type Governor, type Slot, ThriceError } from '@thrice/core';

interface Waiter {
  readonly start: () => void;
  readonly giveUp: () => void;
}

interface LaneSlots {
  readonly limit: number;
  inUse: number;
  readonly waiters: Set<Waiter>;
}

/**
 * Slots for the calls of one process: so many in all, so many a lane.
 *
 * A free slot goes to the waiting lane that uses fewest, so that a slow lane cannot keep a fast one
 * from its share; within a lane first come, first served.
 */
export class SlotGovernor implements Governor {
  readonly #clock: Clock;
  readonly #lanes: ReadonlyMap<string, LaneSlots>;
  #free: number;
  #isClosed = false;

  /**
   * @param init.total - Slots in all, >= 1.
   * @param init.perLane - Slots by lane, >= 1; lanes that are absent have none.
   */
  constructor(init: {
    readonly clock: Clock;
    readonly total: number;
    readonly perLane: ReadonlyMap<string, number>;
  }) {
    this.#clock = init.clock;
    this.#free = init.total;
    this.#lanes = new Map(
      [...init.perLane].map(([lane, limit]) => [lane, { limit, inUse: 0, waiters: new Set() }]),
    );
  }

  async grant(lane: string, signal: AbortSignal): Promise<Slot> {
    const slots = this.#lanes.get(lane);
    if (slots === undefined) {
      throw new ThriceError({ code: 'invariant-violated', message: `no slots for lane "${lane}"` });
    }
    if (signal.aborted || this.#isClosed) throw interrupted();
    const sinceMs = this.#clock.now();
    if (this.#free === 0 || slots.inUse >= slots.limit) await this.#wait(slots, signal);
    else this.#take(slots);
    let isHeld = true;
    return {
      waitMs: this.#clock.now() - sinceMs,
      [Symbol.dispose]: () => {
        if (!isHeld) return;
        isHeld = false;
        slots.inUse -= 1;
        this.#free += 1;
        this.#grantNext();
      },
    };
  }

  /** Grants nothing any more: who waits is turned away, who holds a slot keeps it to the end. */
  close(): void {
    this.#isClosed = true;
    for (const { waiters } of this.#lanes.values()) {
      for (const { giveUp } of waiters) giveUp();
    }
  }

  #take(slots: LaneSlots): void {
    slots.inUse += 1;
    this.#free -= 1;
  }

  #wait(slots: LaneSlots, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        signal.removeEventListener('abort', giveUp);
        slots.waiters.delete(waiter);
        reject(interrupted());
      };
      const waiter: Waiter = {
        giveUp,
        start: () => {
          signal.removeEventListener('abort', giveUp);
          slots.waiters.delete(waiter);
          this.#take(slots);
          resolve();
        },
      };
      signal.addEventListener('abort', giveUp, { once: true });
      slots.waiters.add(waiter);
    });
  }

  #grantNext(): void {
    const waiting = [...this.#lanes.values()].filter(
      ({ waiters, inUse, limit }) => waiters.size > 0 && inUse < limit,
    );
    const [first, ...others] = waiting;
    if (first === undefined || this.#free === 0) return;
    const neediest = others.reduce(
      (least, lane) => (lane.inUse < least.inUse ? lane : least),
      first,
    );
    const [waiter] = neediest.waiters;
    waiter?.start();
  }
}

function interrupted(): ThriceError {
  return new ThriceError({ code: 'interrupted', message: 'stopped while waiting for a slot' });
}
