import {
  backoffMs,
  type Clock,
  type Governor,
  limits,
  type Random,
  type Slot,
  ThriceError,
} from '@thrice/core';

/** One refusal may be chance; so many without an answer in between hold the lane. */
const REFUSALS_TO_HOLD = 2;
/** Refusals this long after the last hold was over, ms, begin a new series. */
const SERIES_MS = 60_000;

interface Waiter {
  readonly start: () => void;
  readonly giveUp: () => void;
}

interface LaneSlots {
  readonly limit: number;
  inUse: number;
  readonly waiters: Set<Waiter>;
  /** Nothing is granted before, ms since 1970. */
  heldUntilMs: number;
  /** Holds in a row, each soon after the one before. */
  holds: number;
  /** Refusals since the last answer. */
  refusals: number;
}

/**
 * Slots for the calls of one process: so many in all, so many a lane.
 *
 * A free slot goes to the waiting lane that uses fewest, so that a slow lane cannot keep a fast one
 * from its share; within a lane first come, first served. A lane that is refused again and again is
 * granted nothing until its hold is over.
 */
export class SlotGovernor implements Governor {
  readonly #clock: Clock;
  readonly #lanes: ReadonlyMap<string, LaneSlots>;
  readonly #random: Random;
  readonly #closed = new AbortController();
  #free: number;

  /**
   * @param init.total - Slots in all, >= 1.
   * @param init.perLane - Slots by lane, >= 1; lanes that are absent have none.
   */
  constructor(init: {
    readonly clock: Clock;
    readonly total: number;
    readonly perLane: ReadonlyMap<string, number>;
    readonly random: Random;
  }) {
    this.#clock = init.clock;
    this.#random = init.random;
    this.#free = init.total;
    this.#lanes = new Map(
      [...init.perLane].map(([lane, limit]) => [
        lane,
        { limit, inUse: 0, waiters: new Set(), heldUntilMs: 0, holds: 0, refusals: 0 },
      ]),
    );
  }

  async grant(lane: string, signal: AbortSignal): Promise<Slot> {
    const slots = this.#slotsOf(lane);
    if (signal.aborted || this.#closed.signal.aborted) throw interrupted();
    const sinceMs = this.#clock.now();
    if (this.#free > 0 && this.#isOpen(slots)) this.#take(slots);
    else await this.#wait(slots, signal);
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

  slowDown(lane: string, retryAfterMs: number | undefined): number {
    const slots = this.#slotsOf(lane);
    const nowMs = this.#clock.now();
    slots.refusals += 1;
    if (slots.refusals < REFUSALS_TO_HOLD) return retryAfterMs ?? this.#backoff(1);
    // Calls that were in flight together are refused together: that is one hold, not many.
    if (nowMs >= slots.heldUntilMs) {
      slots.holds = nowMs - slots.heldUntilMs > SERIES_MS ? 1 : slots.holds + 1;
    }
    const delayMs = retryAfterMs ?? this.#backoff(slots.holds);
    if (nowMs + delayMs > slots.heldUntilMs) {
      slots.heldUntilMs = nowMs + delayMs;
      void this.#grantAfter(delayMs);
    }
    return delayMs;
  }

  answered(lane: string): void {
    this.#slotsOf(lane).refusals = 0;
  }

  #backoff(holds: number): number {
    return backoffMs(holds, {
      baseMs: limits.backoffBaseMs,
      capMs: limits.backoffCapMs,
      random: this.#random,
    });
  }

  async #grantAfter(delayMs: number): Promise<void> {
    await this.#clock.sleep(delayMs, this.#closed.signal);
    while (!this.#closed.signal.aborted && this.#grantNext());
  }

  #slotsOf(lane: string): LaneSlots {
    const slots = this.#lanes.get(lane);
    if (slots !== undefined) return slots;
    throw new ThriceError({ code: 'invariant-violated', message: `no slots for lane "${lane}"` });
  }

  #isOpen({ inUse, limit, heldUntilMs }: LaneSlots): boolean {
    return inUse < limit && this.#clock.now() >= heldUntilMs;
  }

  /** Grants nothing any more: who waits is turned away, who holds a slot keeps it to the end. */
  close(): void {
    this.#closed.abort();
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

  /** Grants one slot; false if none is free or nobody may have it. */
  #grantNext(): boolean {
    const waiting = [...this.#lanes.values()].filter(
      (slots) => slots.waiters.size > 0 && this.#isOpen(slots),
    );
    const [first, ...others] = waiting;
    if (first === undefined || this.#free === 0) return false;
    const neediest = others.reduce(
      (least, lane) => (lane.inUse < least.inUse ? lane : least),
      first,
    );
    const [waiter] = neediest.waiters;
    waiter?.start();
    return true;
  }
}

function interrupted(): ThriceError {
  return new ThriceError({ code: 'interrupted', message: 'stopped while waiting for a slot' });
}
