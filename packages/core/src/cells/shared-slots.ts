import {
  afterCall,
  type GroupSlots,
  hasGoneGroup,
  hasWaited,
  lapsedSlots,
  type SlotUse,
  slotLimit,
  slotOutlook,
  slotPlaceOf,
  WAITING_AGE_MS,
  withSlotGroup,
} from '../domain/lanes/slot-use.ts';
import { ThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { PermitRequest } from '../ports/governor.ts';
import type { LaneSlots, SlotName, SlotTaking } from '../ports/lane-slots.ts';
import { returnRange } from './return-range.ts';

/** How long a call is taken to last before the first of its lane has ended, ms. */
const UNKNOWN_CALL_MS = 1_000;
/** The caller that is next asks so often in the time between two calls, and at least and at most so often, ms. */
const NEXT_POLLS = 8;
const NEXT_POLL_MS = { least: 50, most: 500 };
/** The others ask again when half of the time has passed that is left to them, ms at most. */
const LONGEST_POLL_MS = 2_000;
/** Those before a caller have died or given up if they leave a slot free for so long, ms. */
const PASSED_OVER_MS = 1_000;
/** How often a group says that it waits, ms. */
const WAITING_NOTE_MS = WAITING_AGE_MS / 2;

/** A slot that a call has. */
export interface CallSlot {
  /** Returns it, once the call is recorded. If that fails, it becomes free when its lease ends. */
  giveBack(): Promise<void>;
}

/** What a caller has seen while it waits. */
interface Wait {
  /** Monotonic. */
  readonly startedMs: number;
  number?: number;
  /** Since when there is a slot that none of those before it takes, monotonic, and who was served last by then. */
  passed?: { readonly sinceMs: number; readonly lastServed: number };
}

/** A request of a call on a lane whose spec limits the calls in flight. */
type SlotRequest = Pick<PermitRequest, 'lane' | 'group' | 'canWait' | 'signal'> & {
  readonly maxConcurrency: number;
};

/**
 * Grants the slots of lanes whose specs limit the calls in flight, to the workers of a stage.
 *
 * wanted --room, and nobody before it--> taken --extended while the call lasts--> returned, or free a minute after its holder died
 *
 * A call costs two writes, one for each end. Who has to wait joins a line, which is a third, and reads until it is served, the
 * more often the closer that is. A wait that would be too long is refused before.
 */
export class SharedSlots {
  readonly #slots: LaneSlots;
  readonly #clock: Clock;
  readonly #createToken: () => string;
  /** As last read, for the next caller. */
  readonly #known = new Map<string, SlotUse>();

  constructor(init: {
    readonly slots: LaneSlots;
    readonly clock: Clock;
    /** Creates a unique token. */
    readonly createToken: () => string;
  }) {
    this.#slots = init.slots;
    this.#clock = init.clock;
    this.#createToken = init.createToken;
  }

  /**
   * Waits for a slot.
   *
   * @returns When to return, ms since 1970, if the wait would be too long.
   * @throws {ThriceError} `interrupted` when the signal aborts first.
   */
  async take(request: SlotRequest): Promise<CallSlot | { readonly atMs: number }> {
    const { lane, signal } = request;
    const wait: Wait = { startedMs: this.#clock.monotonicMs() };
    let taking = await this.#takeIfNobodyWaits(request);
    for (;;) {
      if ('giveBack' in taking) return taking;
      if (signal.aborted) throw interrupted();
      const use = await this.#prepare(taking.use, wait, request);
      const place = slotPlaceOf(use, request.group);
      if (place === undefined) {
        taking = { isTaken: false, use: await this.#slots.read(lane) };
        continue;
      }
      const seen = { use, place };
      if (this.#isNext(seen, wait)) {
        taking = await this.#takeInTurn(seen, wait, request);
        continue;
      }
      const isRefused = await this.#sendBackIfTooLong(seen, wait, request);
      if (isRefused !== undefined) return isRefused;
      taking = { isTaken: false, use: await this.#waitFor(seen, wait, request) };
    }
  }

  /** Takes a slot without reading anything first. Nearly every call of a lane with enough slots gets its own so. */
  async #takeIfNobodyWaits(request: SlotRequest): Promise<SlotTaking | CallSlot> {
    const { lane, group, maxConcurrency } = request;
    const use = this.#known.get(lane);
    const place = use && slotPlaceOf(use, group);
    const isFree = use !== undefined && !hasWaited(use, this.#clock.now());
    if (use === undefined || place === undefined || !isFree) {
      return { isTaken: false, use: await this.#slots.read(lane) };
    }
    if (use.groups[place]?.maxConcurrency !== maxConcurrency) return { isTaken: false, use };
    const limit = slotLimit(use);
    const unlessWaitedSinceMs = this.#clock.now() - WAITING_AGE_MS;
    const bounds = { limit, groupLimit: limit, served: undefined, unlessWaitedSinceMs };
    return await this.#take({ use, place }, bounds, request);
  }

  /** Whether a caller may take a slot now. */
  #isNext({ use, place }: Seen, wait: Wait): boolean {
    const { room, ahead } = this.#outlook({ use, place }, wait);
    if (room > ahead) return true;
    if (room === 0 || wait.number === undefined) {
      delete wait.passed;
      return false;
    }
    const lastServed = use.groups[place]?.lastServed ?? 0;
    const nowMs = this.#clock.monotonicMs();
    if (wait.passed?.lastServed !== lastServed) wait.passed = { sinceMs: nowMs, lastServed };
    return nowMs - wait.passed.sinceMs >= PASSED_OVER_MS;
  }

  async #takeInTurn(seen: Seen, { number }: Wait, request: SlotRequest) {
    const { use, place } = seen;
    const { fair } = this.#outlook(seen, {});
    const isLast = number !== undefined && number > (use.groups[place]?.lastServed ?? 0);
    const served = isLast ? number : undefined;
    const bounds = { limit: slotLimit(use), groupLimit: fair, served };
    return await this.#take(seen, { ...bounds, unlessWaitedSinceMs: undefined }, request);
  }

  async #take(
    { use, place }: Seen,
    bounds: Pick<
      Parameters<LaneSlots['take']>[1],
      'limit' | 'groupLimit' | 'served' | 'unlessWaitedSinceMs'
    >,
    { lane }: SlotRequest,
  ): Promise<SlotTaking | CallSlot> {
    const slot: SlotName = { id: this.#createToken(), place };
    const nowMs = this.#clock.now();
    const untilMs = nowMs + limits.leaseMs;
    const { token } = use;
    const taking = await this.#slots.take(lane, { ...slot, ...bounds, nowMs, untilMs, token });
    this.#note(lane, taking.use);
    return taking.isTaken ? this.#hold(lane, slot) : taking;
  }

  /** Keeps a slot for a call: extends it until it is returned. */
  #hold(lane: string, slot: SlotName): CallSlot {
    const sinceMs = this.#clock.monotonicMs();
    const ended = new AbortController();
    const extending = this.#extendUntil(ended.signal, lane, slot);
    return {
      giveBack: async () => {
        ended.abort();
        await extending;
        const callMs = afterCall(
          this.#known.get(lane) ?? { callMs: null },
          this.#clock.monotonicMs() - sinceMs,
        );
        const nowMs = this.#clock.now();
        await this.#slots.giveBack(lane, slot, { nowMs, callMs }).catch(() => undefined);
      },
    };
  }

  async #extendUntil(ended: AbortSignal, lane: string, slot: SlotName): Promise<void> {
    for (;;) {
      await this.#clock.sleep(limits.heartbeatMs, ended);
      if (ended.aborted) return;
      const untilMs = this.#clock.now() + limits.leaseMs;
      // The next one may succeed: a lease outlasts two.
      await this.#slots.extend(lane, slot, untilMs).catch(() => undefined);
    }
  }

  /** Has the group of a caller among those of its lane, and frees what nobody uses any more. */
  async #prepare(use: SlotUse | undefined, wait: Wait, request: SlotRequest): Promise<SlotUse> {
    const { lane, group, signal } = request;
    let known = use;
    while (!signal.aborted) {
      const nowMs = this.#clock.now();
      const own = known?.groups.find((each) => each?.group === group);
      const stated = limitOf(own, wait, request);
      const lapsed = known === undefined ? [] : lapsedSlots(known, nowMs);
      const isListed = own?.maxConcurrency === stated;
      const isClean = lapsed.length === 0;
      if (known !== undefined && isListed && isClean && !hasGoneGroup(known, group, nowMs)) {
        this.#note(lane, known);
        return known;
      }
      for (const slot of lapsed) await this.#slots.free(lane, slot, slot.untilMs);
      if (isClean) {
        const token = this.#createToken();
        const next = withSlotGroup(known, { lane, group, maxConcurrency: stated, nowMs, token });
        await this.#slots.replace(known, next, nowMs);
      }
      known = await this.#slots.read(lane);
    }
    throw interrupted();
  }

  /** Undefined if the caller may wait. */
  async #sendBackIfTooLong(
    seen: Seen,
    wait: Wait,
    { lane, canWait }: SlotRequest,
  ): Promise<{ readonly atMs: number } | undefined> {
    const { room, ahead, intervalMs = UNKNOWN_CALL_MS } = this.#outlook(seen, wait);
    const expectedMs = (ahead - room + 1) * intervalMs;
    const waitedMs = this.#clock.monotonicMs() - wait.startedMs;
    // Who has joined the line was told a shorter wait: it is soon served, or something is wrong.
    const boundMs = wait.number === undefined ? expectedMs : waitedMs;
    if (boundMs <= limits.laneWaitMs && canWait(Math.min(expectedMs, LONGEST_POLL_MS)))
      return undefined;
    const range = returnRange(this.#clock.now(), expectedMs, intervalMs);
    return { atMs: await this.#slots.reserveReturn(lane, range) };
  }

  /** Joins the line, or waits in it. */
  async #waitFor({ use, place }: Seen, wait: Wait, { lane, signal }: SlotRequest) {
    const waiting = { place, nowMs: this.#clock.now() };
    if (wait.number === undefined) {
      const joined = await this.#slots.join(lane, waiting);
      wait.number = joined.groups[place]?.lastJoined ?? 0;
      return joined;
    }
    const { waitedAtMs = 0 } = use.groups[place] ?? {};
    if (waiting.nowMs - waitedAtMs >= WAITING_NOTE_MS) await this.#slots.noteWaiting(lane, waiting);
    await this.#clock.sleep(this.#pollMs({ use, place }, wait), signal);
    return await this.#slots.read(lane);
  }

  #pollMs(seen: Seen, wait: Wait): number {
    const { room, ahead, intervalMs = UNKNOWN_CALL_MS } = this.#outlook(seen, wait);
    const { least, most } = NEXT_POLL_MS;
    const nextMs = Math.min(Math.max(least, intervalMs / NEXT_POLLS), most);
    const laterMs = Math.min(((ahead - room) * intervalMs) / 2, LONGEST_POLL_MS);
    return Math.ceil(Math.max(nextMs, laterMs));
  }

  #outlook({ use, place }: Seen, { number }: Pick<Wait, 'number'>) {
    const nowMs = this.#clock.now();
    return slotOutlook(use, { place, nowMs, ...(number !== undefined && { number }) });
  }

  #note(lane: string, use: SlotUse | undefined): void {
    if (use === undefined) this.#known.delete(lane);
    else this.#known.set(lane, use);
  }
}

/** The limit of a caller's group: who has waited through an edit of its spec follows those that have come since. */
function limitOf(
  own: GroupSlots | null | undefined,
  { number }: Pick<Wait, 'number'>,
  { maxConcurrency }: SlotRequest,
): number {
  return (number === undefined ? undefined : own?.maxConcurrency) ?? maxConcurrency;
}

/** The slots of a lane as a caller sees them. */
interface Seen {
  readonly use: SlotUse;
  /** Of its group. */
  readonly place: number;
}

function interrupted(): ThriceError {
  return new ThriceError({ code: 'interrupted', message: 'stopped while waiting for a slot' });
}
