import {
  backoffMs,
  type CallEnd,
  type Clock,
  type Governor,
  type Grant,
  limits,
  type PermitRequest,
  type Random,
  ThriceError,
} from '@thrice/core';

/** One refusal may be chance; so many without an answer in between hold the lane. */
const REFUSALS_TO_HOLD = 2;

interface Waiter {
  readonly start: () => void;
  readonly abort: () => void;
}

interface LaneSlots {
  /** Calls in flight at most, as configured. */
  readonly limit: number;
  /** Calls in flight at most for now, 1..`limit`: halved by each hold, one more with each answer. */
  window: number;
  inUse: number;
  readonly waiters: Set<Waiter>;
  /** Nothing is granted before, ms since 1970. */
  heldUntilMs: number;
  /** Holds in a row without an answer in between. */
  holds: number;
  /** Refusals since the last answer. */
  refusals: number;
}

/**
 * Slots for the calls of one process: so many in all, so many a lane.
 *
 * A free slot goes to the waiting lane that uses fewest, so that a slow lane cannot keep a fast one
 * from its share; within a lane first come, first served. A lane that is refused again and again is
 * granted nothing until its hold is over, then half as many slots as before; its pace comes back with its
 * answers.
 *
 * Nobody waits for a wake-up that can be missed: whatever changes (a slot comes back, a hold ends, a timer
 * fires early or late) ends in `grantWaiting`, which looks at everything anew and sets the one alarm
 * for the earliest end of a hold that somebody waits for.
 */
export class SlotGovernor implements Governor {
  readonly #clock: Clock;
  readonly #lanes: ReadonlyMap<string, LaneSlots>;
  readonly #random: Random;
  readonly #closed = new AbortController();
  #alarm: { readonly atMs: number; readonly cancel: AbortController } | undefined;
  #free: number;
  #grantedCount = 0;

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
        {
          limit,
          window: limit,
          inUse: 0,
          waiters: new Set(),
          heldUntilMs: 0,
          holds: 0,
          refusals: 0,
        },
      ]),
    );
  }

  /** Waits as long as it takes: a cell that waits on this machine keeps nothing else waiting. */
  async grant({ lane, signal }: PermitRequest): Promise<Grant> {
    const slots = this.#slotsOf(lane);
    if (signal.aborted || this.#closed.signal.aborted) throw interrupted();
    const sinceMs = this.#clock.now();
    const isFirst = slots.waiters.size === 0;
    if (isFirst && this.#free > 0 && this.#isOpen(slots)) this.#take(slots);
    else await this.#wait(slots, signal);
    let isSettled = false;
    const settle = async (end: CallEnd) => {
      if (isSettled) return 0;
      isSettled = true;
      return this.#settle(slots, end);
    };
    const permit = { waitMs: this.#clock.now() - sinceMs, settle };
    return { kind: 'granted', permit };
  }

  /** @returns How long a refused cell should wait, ms. */
  #settle(slots: LaneSlots, end: CallEnd): number {
    const delayMs = end.kind === 'refused' ? this.#slowDown(slots, end.retryAfterMs) : 0;
    if (end.kind === 'answered') speedUp(slots);
    slots.inUse -= 1;
    this.#free += 1;
    this.grantWaiting();
    return delayMs;
  }

  /** Counts a refusal; a series of them without an answer in between holds the lane. */
  #slowDown(slots: LaneSlots, retryAfterMs: number | undefined): number {
    const nowMs = this.#clock.now();
    slots.refusals += 1;
    if (slots.refusals < REFUSALS_TO_HOLD) return retryAfterMs ?? this.#backoff(1);
    // Calls that were in flight together are refused together: that is one hold, not many.
    if (nowMs >= slots.heldUntilMs) {
      slots.holds += 1;
      slots.window = Math.max(1, Math.floor(slots.window / 2));
    }
    const delayMs = retryAfterMs ?? this.#backoff(slots.holds);
    slots.heldUntilMs = Math.max(slots.heldUntilMs, nowMs + delayMs);
    return delayMs;
  }

  /** Grants nothing any more: who waits is turned away, who holds a slot keeps it to the end. */
  close(): void {
    this.#closed.abort();
    this.#alarm?.cancel.abort();
    for (const { waiters } of this.#lanes.values()) {
      for (const { abort } of waiters) abort();
    }
  }

  /** Slots granted so far; a number that grows is a sign of life. */
  get grantedCount(): number {
    return this.#grantedCount;
  }

  /** Slots in use: calls in flight. */
  get inUseCount(): number {
    return [...this.#lanes.values()].reduce((sum, { inUse }) => sum + inUse, 0);
  }

  /** Whether a lane is granted nothing for now because it was refused. */
  isHeld(lane: string): boolean {
    return this.#clock.now() < this.#slotsOf(lane).heldUntilMs;
  }

  /** Grants what should have been granted: for a watchdog that sees nothing move. */
  recover(): void {
    this.grantWaiting();
  }

  protected grantWaiting(): void {
    if (this.#closed.signal.aborted) return;
    while (this.#grantNext());
    this.#setAlarm();
  }

  /** Sets the alarm for the earliest end of a hold that somebody waits for. */
  #setAlarm(): void {
    const nowMs = this.#clock.now();
    const ends = [...this.#lanes.values()].flatMap(({ waiters, heldUntilMs }) =>
      waiters.size > 0 && heldUntilMs > nowMs ? [heldUntilMs] : [],
    );
    const atMs = Math.min(...ends);
    if (atMs === (this.#alarm?.atMs ?? Number.POSITIVE_INFINITY)) return;
    this.#alarm?.cancel.abort();
    this.#alarm = undefined;
    if (ends.length === 0) return;
    const alarm = { atMs, cancel: new AbortController() };
    this.#alarm = alarm;
    void this.#clock.sleep(atMs - nowMs, alarm.cancel.signal).then(() => {
      if (this.#alarm !== alarm) return;
      // A timer may fire before the clock says so: then the next alarm is for the rest.
      this.#alarm = undefined;
      this.grantWaiting();
    });
  }

  #backoff(holds: number): number {
    return backoffMs(holds, {
      baseMs: limits.backoffBaseMs,
      capMs: limits.backoffCapMs,
      random: this.#random,
    });
  }

  #slotsOf(lane: string): LaneSlots {
    const slots = this.#lanes.get(lane);
    if (slots !== undefined) return slots;
    throw new ThriceError({ code: 'invariant-violated', message: `no slots for lane "${lane}"` });
  }

  #isOpen({ inUse, window, heldUntilMs }: LaneSlots): boolean {
    return inUse < window && this.#clock.now() >= heldUntilMs;
  }

  #take(slots: LaneSlots): void {
    slots.inUse += 1;
    this.#free -= 1;
    this.#grantedCount += 1;
  }

  #wait(slots: LaneSlots, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        signal.removeEventListener('abort', abort);
        slots.waiters.delete(waiter);
        reject(interrupted());
      };
      const waiter: Waiter = {
        abort,
        start: () => {
          signal.removeEventListener('abort', abort);
          slots.waiters.delete(waiter);
          this.#take(slots);
          resolve();
        },
      };
      signal.addEventListener('abort', abort, { once: true });
      slots.waiters.add(waiter);
      this.grantWaiting();
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

/** An answer ends a series of refusals and gives one slot back. */
function speedUp(slots: LaneSlots): void {
  slots.refusals = 0;
  slots.holds = 0;
  slots.window = Math.min(slots.limit, slots.window + 1);
}

function interrupted(): ThriceError {
  return new ThriceError({ code: 'interrupted', message: 'stopped while waiting for a slot' });
}
