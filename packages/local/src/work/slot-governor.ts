import {
  type Benchmark,
  type CallEnd,
  type Clock,
  type Governor,
  type Grant,
  type LaneWait,
  limits,
  type PermitRequest,
  type Random,
  retryDelayMs,
  type SettledCall,
  ThriceError,
} from '@thrice/core';
import type { GrantedCall, LaneShare, WaitingCalls } from './lane-share.ts';

type Refusal = Extract<CallEnd, { readonly kind: 'refused' }>;

const NO_TOKENS = { boundTokens: 0, reservedTokens: 0 };
const NOT_REFUSED: SettledCall = { delayMs: 0, hasOnlyRefused: false };
/** Longest sleep of the alarm, ms. A timer of more than 2^31 - 1 ms, about 25 days, would fire after 1 ms. */
const MAX_SLEEP_MS = 60_000;

/** A governor whose owner watches over it and can end its waits. */
export interface WatchedGovernor extends Governor {
  /**
   * Whether a caller waits although its lane is not held and a slot is free for it. True for milliseconds at
   * the end of a hold, and for longer only because of a bug.
   */
  readonly isStalled: boolean;
  /** The lanes that make no calls for now because their vendor refused some. */
  readonly laneWaits: readonly LaneWait[];
  /** Permits granted and not settled yet: calls in flight, and answers that are not in the journal yet. */
  readonly inUseCount: number;
  /** Grants nothing until {@link WatchedGovernor.resume}; callers keep waiting. */
  pause(): void;
  resume(): void;
  /** Ends a stall: grants every slot that should have been granted. */
  recover(): void;
  /** Ends all waits with `interrupted` and grants no more slots; granted ones stay in use until settled. */
  close(): void;
}

/** The tokens of a call: its bound, and what is reserved for it. */
type Reservation = Pick<GrantedCall, 'boundTokens' | 'reservedTokens'>;

interface Waiter {
  /** Tokens to reserve for its call, by what is known of the lane and the model by now. */
  readonly tokens: number;
  readonly start: () => void;
  readonly abort: () => void;
}

interface LaneSlots {
  /** The part of this process in the limits that all processes hold together; undefined if only its slots limit it. */
  readonly share: LaneShare | undefined;
  /** Calls in flight at most. */
  readonly limit: number;
  inUse: number;
  readonly waiters: Set<Waiter>;
  /** When the lane refused the first call since its last answer, monotonic ms; undefined if it has refused none. */
  refusedSinceMs: number | undefined;
  /** The latest time until which a refused cell waits, since the last answer, and why; undefined without a refusal. */
  wait: { readonly untilMs: number; readonly until: string; readonly reason: string } | undefined;
}

/**
 * Limits the calls of one process, in total and per lane.
 *
 * A free slot goes to the waiting lane that uses the fewest, so that a slow lane does not take the share of a
 * fast one; within a lane, callers are served in order. The rate and the holds of a lane are those of its share.
 *
 * No wake-up can be missed: every change (a slot is returned, a share changes, a timer fires early or late) calls
 * `grantWaiting`, which examines all lanes again and sets a single alarm for the earliest time at which one may be served.
 */
export class SlotGovernor implements WatchedGovernor {
  readonly #clock: Clock;
  readonly #lanes: ReadonlyMap<string, LaneSlots>;
  readonly #random: Random;
  readonly #closed = new AbortController();
  #alarm: { readonly atMs: number; readonly cancel: AbortController } | undefined;
  readonly #total: number;
  #free: number;
  #isPaused = false;

  /**
   * @param init.total - Slots in total, >= 1.
   * @param init.perLane - Slots by lane, >= 1 each.
   * @param init.shares - Shares by lane. @default none: the slots are the only limit
   */
  constructor(init: {
    readonly clock: Clock;
    readonly total: number;
    readonly perLane: ReadonlyMap<string, number>;
    readonly random: Random;
    readonly shares?: ReadonlyMap<string, LaneShare>;
  }) {
    this.#clock = init.clock;
    this.#random = init.random;
    this.#total = init.total;
    this.#free = init.total;
    this.#lanes = new Map(
      [...init.perLane].map(([lane, limit]) => [
        lane,
        {
          share: init.shares?.get(lane),
          limit,
          inUse: 0,
          waiters: new Set(),
          refusedSinceMs: undefined,
          wait: undefined,
        },
      ]),
    );
    for (const share of init.shares?.values() ?? []) share.onChange = () => this.grantWaiting();
  }

  /** Waits without a limit: a waiting cell on this machine blocks no other. */
  async grant(request: PermitRequest): Promise<Grant> {
    const { lane, model, signal } = request;
    const slots = this.#slotsOf(lane);
    if (signal.aborted || this.#closed.signal.aborted) throw interrupted();
    const sinceMs = this.#clock.monotonicMs();
    const isFirst = slots.waiters.size === 0;
    const isGrantable = isFirst && this.#free > 0 && !this.#isPaused;
    const reserve = () => slots.share?.reserve(request) ?? NO_TOKENS;
    let reservation = reserve();
    if (isGrantable && canGrant(slots, reservation.reservedTokens, sinceMs)) {
      this.#take(slots, reservation.reservedTokens, sinceMs);
      // The first call of a lane in use begins to be reported; the others are with it.
      if (slots.inUse === 1) this.#report(slots, sinceMs);
    } else reservation = await this.#wait(slots, { reserve, sinceMs, signal });
    const call: GrantedCall = { model, ...reservation, sentAtMs: this.#clock.now() };
    const waitMs = Math.round(this.#clock.monotonicMs() - sinceMs);
    let isSettled = false;
    const settle = async (end: CallEnd) => {
      if (isSettled) return NOT_REFUSED;
      isSettled = true;
      return this.#settle(slots, call, end);
    };
    return { kind: 'granted', permit: { waitMs, settle } };
  }

  #settle(slots: LaneSlots, call: GrantedCall, end: CallEnd): SettledCall {
    slots.share?.settle(call, end);
    const settled = end.kind === 'refused' ? this.#refuse(slots, end) : NOT_REFUSED;
    if (end.kind === 'answered') {
      slots.refusedSinceMs = undefined;
      slots.wait = undefined;
    }
    slots.inUse -= 1;
    this.#free += 1;
    this.grantWaiting();
    return settled;
  }

  #refuse(slots: LaneSlots, { retryAfterMs, reason }: Refusal): SettledCall {
    const delayMs = retryAfterMs ?? retryDelayMs(1, this.#random);
    this.#noteWait(slots, delayMs, reason);
    const nowMs = this.#clock.monotonicMs();
    slots.refusedSinceMs ??= nowMs;
    const hasOnlyRefused = nowMs - slots.refusedSinceMs >= limits.longestHoldMs;
    // Said once: a lane that is called again has its time again.
    if (hasOnlyRefused) slots.refusedSinceMs = undefined;
    return { delayMs, hasOnlyRefused };
  }

  #noteWait(slots: LaneSlots, delayMs: number, reason: string): void {
    const untilMs = this.#clock.monotonicMs() + delayMs;
    if (untilMs <= (slots.wait?.untilMs ?? 0)) return;
    slots.wait = { untilMs, until: this.#clock.toIso(this.#clock.now() + delayMs), reason };
  }

  close(): void {
    this.#closed.abort();
    for (const { waiters } of this.#lanes.values()) {
      for (const { abort } of waiters) abort();
    }
    this.grantWaiting();
  }

  get isStalled(): boolean {
    return this.#free > 0 && this.#grantableLanes(this.#clock.monotonicMs()).length > 0;
  }

  get laneWaits(): readonly LaneWait[] {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#lanes].flatMap(([breakerKey, { wait, inUse, waiters, share }]) => {
      if (wait === undefined || wait.untilMs <= nowMs || inUse > 0) return [];
      // Of a lane that is not held, only the refused cells wait; others would be in flight.
      const isWaiting = nowMs < (share?.heldUntilMs ?? 0) || waiters.size === 0;
      return isWaiting ? [{ breakerKey, until: wait.until, reason: wait.reason }] : [];
    });
  }

  get inUseCount(): number {
    return this.#total - this.#free;
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.grantWaiting();
  }

  recover(): void {
    this.grantWaiting();
  }

  protected grantWaiting(): void {
    // One reading for both: a hold that ended between two readings would get neither a grant nor an alarm.
    const nowMs = this.#clock.monotonicMs();
    while (this.#grantNext(nowMs));
    for (const slots of this.#lanes.values()) slots.share?.exchangeIfDue(callsOf(slots), nowMs);
    this.#setAlarm(nowMs);
  }

  /** Sets the alarm for the earliest time at which a caller that waits may be served, or a lane's share changes. */
  #setAlarm(nowMs: number): void {
    const ends = [...this.#lanes.values()]
      .flatMap((slots) => wakesOf(slots, nowMs))
      .filter((atMs) => atMs > nowMs && Number.isFinite(atMs));
    const atMs = Math.min(...ends);
    if (atMs === (this.#alarm?.atMs ?? Number.POSITIVE_INFINITY)) return;
    this.#alarm?.cancel.abort();
    this.#alarm = undefined;
    if (ends.length === 0) return;
    const alarm = { atMs, cancel: new AbortController() };
    this.#alarm = alarm;
    const sleepMs = Math.min(atMs - nowMs, MAX_SLEEP_MS);
    void this.#clock.sleep(sleepMs, alarm.cancel.signal).then(() => {
      if (this.#alarm !== alarm) return;
      // It may be too early, because the time is far or the timer fired early: the next alarm covers the rest.
      this.#alarm = undefined;
      this.grantWaiting();
    });
  }

  #slotsOf(lane: string): LaneSlots {
    const slots = this.#lanes.get(lane);
    if (slots !== undefined) return slots;
    throw new ThriceError({ code: 'invariant-violated', message: `no slots for lane "${lane}"` });
  }

  #take(slots: LaneSlots, tokens: number, sinceMs: number): void {
    slots.share?.take(tokens, sinceMs);
    slots.inUse += 1;
    this.#free -= 1;
  }

  #report({ share, ...slots }: LaneSlots, nowMs: number): void {
    if (share === undefined) return;
    share.exchangeIfDue(callsOf(slots), nowMs);
    this.#setAlarm(nowMs);
  }

  #wait(
    slots: LaneSlots,
    {
      reserve,
      sinceMs,
      signal,
    }: {
      readonly reserve: () => Reservation;
      readonly sinceMs: number;
      readonly signal: AbortSignal;
    },
  ): Promise<Reservation> {
    return new Promise((resolve, reject) => {
      const abort = () => {
        signal.removeEventListener('abort', abort);
        slots.waiters.delete(waiter);
        reject(interrupted());
      };
      const waiter: Waiter = {
        get tokens() {
          return reserve().reservedTokens;
        },
        abort,
        start: () => {
          signal.removeEventListener('abort', abort);
          slots.waiters.delete(waiter);
          const reservation = reserve();
          this.#take(slots, reservation.reservedTokens, sinceMs);
          resolve(reservation);
        },
      };
      signal.addEventListener('abort', abort, { once: true });
      slots.waiters.add(waiter);
      this.grantWaiting();
    });
  }

  /** The lanes with waiters that may have a slot if one is free. */
  #grantableLanes(nowMs: number): readonly LaneSlots[] {
    if (this.#isPaused) return [];
    return [...this.#lanes.values()].filter((slots) => {
      const [first] = slots.waiters;
      return first !== undefined && canGrant(slots, first.tokens, nowMs);
    });
  }

  /** Grants one slot. Returns false if none is free or no waiting lane may have one. */
  #grantNext(nowMs: number): boolean {
    const [first, ...others] = this.#grantableLanes(nowMs);
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

function canGrant(slots: LaneSlots, tokens: number, nowMs: number): boolean {
  const { inUse, share } = slots;
  if (inUse >= slots.limit) return false;
  return (
    share === undefined || (share.hasSlot(inUse, nowMs) && share.readyAtMs(tokens, nowMs) <= nowMs)
  );
}

function callsOf({ inUse, waiters }: Pick<LaneSlots, 'inUse' | 'waiters'>): WaitingCalls {
  return { inUse, waiting: waiters.size, waiters };
}

/** When something may change for a lane by itself. */
function wakesOf(slots: LaneSlots, nowMs: number): readonly number[] {
  const { share, waiters } = slots;
  if (share === undefined) return [];
  const [first] = waiters;
  const readyAtMs = first === undefined ? [] : [share.readyAtMs(first.tokens, nowMs)];
  return [...readyAtMs, share.dueAtMs(callsOf(slots), nowMs)];
}

/** The slots of each lane of a benchmark. */
export function slotsPerLane({ lanes, parallel }: Benchmark): ReadonlyMap<string, number> {
  return new Map(
    [...lanes].map(([name, { maxConcurrency = parallel }]) => [
      name,
      Math.min(maxConcurrency, parallel),
    ]),
  );
}

function interrupted(): ThriceError {
  return new ThriceError({ code: 'interrupted', message: 'stopped while waiting for a slot' });
}
