import {
  freePace,
  type LanePace,
  PACE_AGE_MS,
  placeOf,
  type RateLimits,
} from '../domain/lanes/lane-pace.ts';
import { hasOnlyRefused, isCounted } from '../domain/lanes/pace-evidence.ts';
import { isLimited } from '../domain/lanes/pace-rates.ts';
import {
  afterAnswer,
  afterRefusal,
  afterStatement,
  isNewRefusal,
} from '../domain/lanes/pace-refusals.ts';
import { afterJoining, afterSharing, isSharedLongAgo } from '../domain/lanes/pace-sharing.ts';
import {
  afterIdling,
  dueAtMs,
  intervalMs,
  isOverdue,
  nextTurn,
  type Turn,
} from '../domain/lanes/pace-turns.ts';
import { ThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Clock } from '../ports/clock.ts';
import type {
  CallEnd,
  Governor,
  Permit,
  PermitRequest,
  RateLimitHeaders,
  SettledCall,
} from '../ports/governor.ts';
import type { LanePaces } from '../ports/lane-paces.ts';
import type { LaneSlots } from '../ports/lane-slots.ts';
import type { Random } from '../ports/random.ts';
import { MeanTokens } from './mean-tokens.ts';
import { limitNamedIn, readRateLimits } from './read-rate-limits.ts';
import { returnRange } from './return-range.ts';
import { type CallSlot, SharedSlots } from './shared-slots.ts';
import { TurnBlocks, type TurnOwner } from './turn-blocks.ts';

/** Delay of a refused cell when the vendor does not say how long, ms: between one and two times this. */
const REFUSED_MS = 1_000;
/** The answer to a call without a turn that took this long is noted with the pace that its lane may have got since, ms. */
const SLOW_CALL_MS = 60_000;

/** Of so many calls of a free lane that has refused some, one is counted, for all of them. */
const CALLS_PER_COUNT = 20;

const NOT_REFUSED: SettledCall = { delayMs: 0, hasOnlyRefused: false };

/** A pace as a process last read it. */
interface KnownPace {
  readonly pace: LanePace | undefined;
  /** Monotonic. */
  readonly readAtMs: number;
}

/** A call in flight. */
interface SentCall {
  readonly lane: string;
  readonly group: string;
  readonly model: string;
  /** Undefined if the lane was free. */
  readonly turn: Turn | undefined;
  readonly sentAtMs: number;
  /** That it was expected to take. */
  readonly tokens: number;
}

/**
 * Grants the calls of the workers of a stage, which share nothing but the ledger.
 *
 * States of a lane: free --refusal--> searching --refusal--> found --a long time without one--> free. The rate of a limited
 * lane rises with time, by itself: only refusals are written. While a lane is free, its calls need no turn and cost one read
 * in a while. A lane whose spec has a limit is never free.
 *
 * The subscription of the lane's queue limits concurrency; where a spec limits it further, a call needs a slot beside its turn
 * ({@link SharedSlots}). A worker waits for its turn while it holds its cell: so the queue keeps the tasks that could only be
 * sent back. A wait that is too long is refused before a turn is taken.
 */
export class SharedGovernor {
  readonly #paces: LanePaces;
  readonly #slots: SharedSlots;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #createToken: () => string;
  readonly #known = new Map<string, KnownPace>();
  readonly #blocks: TurnBlocks;
  readonly #usage = new MeanTokens();

  constructor(init: {
    readonly paces: LanePaces;
    readonly slots: LaneSlots;
    readonly clock: Clock;
    readonly random: Random;
    /** Creates a unique token. */
    readonly createToken: () => string;
  }) {
    this.#paces = init.paces;
    this.#clock = init.clock;
    this.#random = init.random;
    this.#createToken = init.createToken;
    this.#blocks = new TurnBlocks(init);
    this.#slots = new SharedSlots(init);
  }

  /** Creates the governor of one cell, whose refused call keeps its turn. */
  forCell(): Governor {
    const kept = new Map<string, Turn>();
    return {
      grant: async (request) => {
        const startedMs = this.#clock.monotonicMs();
        const { lane, group, model } = request;
        const tokens = this.#usage.estimate(request);
        const waited = await this.#waitForTurn(request, tokens, kept.get(lane));
        if ('atMs' in waited) return { kind: 'not-before', atMs: waited.atMs };
        kept.delete(lane);
        const slot = await this.#takeSlot(request);
        if (slot !== undefined && 'atMs' in slot) return { kind: 'not-before', atMs: slot.atMs };
        if (waited.turn === undefined) await this.#countFreeCall(lane);
        const sentAtMs = this.#clock.now();
        const call = { lane, group, model, tokens, sentAtMs, turn: waited.turn };
        const keep = (turn: Turn) => void kept.set(lane, turn);
        const settle = onceOnly(async (end: CallEnd) => {
          try {
            return await this.#settle(call, end, keep);
          } finally {
            await slot?.giveBack();
          }
        });
        const waitMs = Math.round(this.#clock.monotonicMs() - startedMs);
        return { kind: 'granted', permit: { waitMs, settle } };
      },
    };
  }

  /** Takes a slot of a lane whose spec limits the calls in flight, once the call's turn has come: no slot waits for a turn. */
  async #takeSlot(
    request: PermitRequest,
  ): Promise<CallSlot | { readonly atMs: number } | undefined> {
    const { maxConcurrency } = request;
    return maxConcurrency === null
      ? undefined
      : await this.#slots.take({ ...request, maxConcurrency });
  }

  async #waitForTurn(
    request: PermitRequest,
    tokens: number,
    keptTurn: Turn | undefined,
  ): Promise<{ readonly atMs: number } | Pick<SentCall, 'turn'>> {
    const { lane, group, signal } = request;
    const startedMs = this.#clock.monotonicMs();
    let turn = keptTurn;
    for (;;) {
      const known = await this.#readPlace(request);
      if (known === undefined) return { turn: undefined };
      const { pace, place } = known;
      const waitedMs = this.#clock.monotonicMs() - startedMs;
      const nowMs = this.#clock.now();
      const expectedMs = dueAtMs(pace, place, turn ?? nextTurn(pace, place)) - nowMs;
      const holdMs = pace.heldUntilMs - nowMs;
      if (isTooLong({ expectedMs, holdMs, waitedMs }, pace, request))
        return await this.#sendBack(pace, place, expectedMs);
      if (turn === undefined) turn = await this.#takeTurn({ lane, group, place, tokens });
      else if (expectedMs <= 0) return { turn };
      else await this.#clock.sleep(untilNextRead(pace, expectedMs), signal);
    }
  }

  /** Reads the pace of a limited lane, in which the group gets a place. Undefined while the lane is free. */
  async #readPlace(
    request: PermitRequest,
  ): Promise<{ readonly pace: LanePace; readonly place: number } | undefined> {
    const { lane, group, signal } = request;
    while (!signal.aborted) {
      const pace = await this.#readPace(lane);
      if (!hasBounds(request.limits) && !isLimited(pace, this.#clock.now())) return undefined;
      const place = pace && placeOf(pace, group);
      const isMissing = pace === undefined || place === undefined;
      if (!isMissing && !hasOtherLimits(pace, place, request)) return { pace, place };
      await this.#join(pace, request);
    }
    throw interrupted();
  }

  /** Gets the group a place among those that share the lane's rate. Another caller may do it first. */
  async #join(
    pace: LanePace | undefined,
    { lane, group, limits: own }: PermitRequest,
  ): Promise<void> {
    const change = this.#change();
    const existing = pace ?? freePace(lane, change.token);
    await this.#replace(pace, afterJoining(existing, { ...change, group, limits: own }));
  }

  /** Takes a turn. If it was due long ago, its group has not used its share, and its turns count from now on. */
  async #takeTurn(owner: TurnOwner): Promise<Turn> {
    const { turn, pace } = await this.#blocks.take(owner);
    if (pace === undefined) return turn;
    this.#note(pace.lane, pace);
    const { place } = owner;
    const change = this.#change();
    // If another caller has changed it meanwhile, this turn counts by that.
    if (isOverdue(pace, place, turn, change.nowMs))
      await this.#replace(pace, afterIdling(pace, { ...change, place, turn }));
    else if (isSharedLongAgo(pace, change.nowMs))
      await this.#replace(pace, afterSharing(pace, change));
    return turn;
  }

  /** Counts one of many calls that need no turn, for all of them: so a lane that refuses by chance tells from one with a limit. */
  async #countFreeCall(lane: string): Promise<void> {
    const pace = this.#known.get(lane)?.pace;
    if (pace === undefined || !isCounted(pace, this.#clock.now())) return;
    if (this.#random() * CALLS_PER_COUNT >= 1) return;
    // Counts are hints: if this failed the call, its slot would stay taken.
    await this.#paces.count(lane, { calls: CALLS_PER_COUNT, refusals: 0 }).catch(() => undefined);
  }

  #change() {
    return { nowMs: this.#clock.now(), token: this.#createToken() };
  }

  async #sendBack(
    pace: LanePace,
    place: number,
    waitMs: number,
  ): Promise<{ readonly atMs: number }> {
    const nowMs = this.#clock.now();
    const range = returnRange(nowMs, waitMs, intervalMs(pace, place, nowMs));
    return { atMs: await this.#paces.reserveReturn(pace.lane, range) };
  }

  /** Reads the pace of a lane, at most once in a while. */
  async #readPace(lane: string): Promise<LanePace | undefined> {
    const known = this.#known.get(lane);
    const isKnown = known !== undefined && this.#clock.monotonicMs() - known.readAtMs < PACE_AGE_MS;
    if (isKnown) return known.pace;
    return await this.#readAgain(lane);
  }

  async #readAgain(lane: string): Promise<LanePace | undefined> {
    const pace = await this.#paces.read(lane);
    this.#note(lane, pace);
    return pace;
  }

  /** Notes a pace that was read elsewhere, unless a later one is known. */
  notePace(lane: string, pace: LanePace | undefined, readAtMs: number): void {
    const known = this.#known.get(lane);
    if (known === undefined || known.readAtMs < readAtMs) this.#known.set(lane, { pace, readAtMs });
  }

  #note(lane: string, pace: LanePace | undefined): void {
    this.#known.set(lane, { pace, readAtMs: this.#clock.monotonicMs() });
  }

  async #replace(existing: LanePace | undefined, pace: LanePace): Promise<boolean> {
    const isStored = await this.#paces.replace(existing, pace);
    if (isStored) this.#note(pace.lane, pace);
    else this.#known.delete(pace.lane);
    return isStored;
  }

  async #settle(
    call: SentCall,
    end: CallEnd,
    keepTurn: (turn: Turn) => void,
  ): Promise<SettledCall> {
    if (end.kind === 'answered') await this.#noteAnswer(call, end);
    if (end.kind !== 'refused') return NOT_REFUSED;
    const delayMs = end.retryAfterMs ?? REFUSED_MS + REFUSED_MS * this.#random();
    const slowed = await this.#noteRefusal(call, end);
    if (slowed === undefined) return { delayMs, hasOnlyRefused: false };
    if (call.turn !== undefined) keepTurn(call.turn);
    return { delayMs, hasOnlyRefused: hasOnlyRefused(slowed, this.#clock.now()) };
  }

  /** The first answer after refusals shows that the lane works. No other answer is written. */
  async #noteAnswer(call: SentCall, { usage, rateLimits }: AnsweredCall): Promise<void> {
    const { lane, turn, sentAtMs } = call;
    const usedTokens = this.#usage.note(call, usage);
    if (usedTokens !== undefined) this.#blocks.owe(call, usedTokens - call.tokens);
    // The pace of a free lane is not read after each short call: no lane is blocked as soon as that.
    if (turn === undefined && this.#clock.now() - sentAtMs < SLOW_CALL_MS) return;
    const pace = await this.#readPace(lane);
    if (!isLimited(pace, this.#clock.now())) return;
    const stated = withStatement(pace.stated, rateLimits);
    const change = this.#change();
    if (pace.refusedSinceMs !== null) {
      await this.#replace(pace, { ...afterAnswer(pace, change), stated });
    } else if (stated !== pace.stated) {
      await this.#replace(pace, afterStatement(pace, stated, change));
    }
  }

  /**
   * Only the first of the calls that are refused together changes the pace.
   *
   * @returns The pace as this refusal has slowed it down, if it has.
   */
  async #noteRefusal(call: SentCall, end: RefusedEnd): Promise<LanePace | undefined> {
    const { lane, turn, sentAtMs } = call;
    const stored = await this.#readAgain(lane);
    const change = this.#change();
    const { nowMs } = change;
    if (isLimited(stored, nowMs) && !isNewRefusal(stored, sentAtMs)) return undefined;
    const isCountedLane = stored !== undefined && isCounted(stored, nowMs);
    const existing = isCountedLane
      ? await this.#paces.count(lane, { calls: 0, refusals: 1 })
      : stored;
    const { retryAfterMs, reason, rateLimits } = end;
    const named = limitNamedIn(reason, rateLimits);
    const refused = { ...call, retryAfterMs, named, keepsTurn: turn !== undefined };
    const pace = existing ?? freePace(lane, change.token);
    const known = { ...pace, stated: withStatement(pace.stated, rateLimits) };
    const after = afterRefusal(known, refused, change);
    const isStored = after.pace === known || (await this.#replace(existing, after.pace));
    return isStored && after.isSlower ? after.pace : undefined;
  }
}

type AnsweredCall = Extract<CallEnd, { readonly kind: 'answered' }>;
type RefusedEnd = Extract<CallEnd, { readonly kind: 'refused' }>;

/** What the vendor states now, or the same object if that is nothing new. */
function withStatement(known: RateLimits, headers: RateLimitHeaders): RateLimits {
  const { requestsPerMinute, tokensPerMinute } = readRateLimits(headers);
  const stated = {
    requestsPerMinute: requestsPerMinute ?? known.requestsPerMinute,
    tokensPerMinute: tokensPerMinute ?? known.tokensPerMinute,
  };
  return areSame(stated, known) ? known : stated;
}

function areSame(left: RateLimits, right: RateLimits): boolean {
  return (
    left.requestsPerMinute === right.requestsPerMinute &&
    left.tokensPerMinute === right.tokensPerMinute
  );
}

function hasBounds({ requestsPerMinute, tokensPerMinute }: RateLimits): boolean {
  return requestsPerMinute !== null || tokensPerMinute !== null;
}

/** Whether the limits of a group's spec have changed. */
function hasOtherLimits(
  pace: LanePace,
  place: number,
  { group, limits: own }: PermitRequest,
): boolean {
  const turns = pace.groups[place];
  return turns?.group === group && !areSame(turns.limits, own);
}

/** The wait of a caller. */
interface Wait {
  /** Until its turn, at the present pace. */
  readonly expectedMs: number;
  /** Until the lane takes calls again. */
  readonly holdMs: number;
  /** So far. */
  readonly waitedMs: number;
}

/**
 * Whether a caller should not wait so long. A pace that is searched says little about the turns that are to come, but its
 * hold is certain.
 */
function isTooLong(
  { expectedMs, holdMs, waitedMs }: Wait,
  pace: LanePace,
  { canWait }: Pick<PermitRequest, 'canWait'>,
): boolean {
  if (expectedMs <= 0) return false;
  const boundMs = pace.requests?.phase === 'searching' ? Math.max(holdMs, waitedMs) : expectedMs;
  return boundMs > limits.laneWaitMs || !canWait(expectedMs);
}

/** How long a caller sleeps before it reads the pace again, which may change meanwhile. */
function untilNextRead({ requests }: LanePace, waitMs: number): number {
  const longestMs =
    requests?.phase === 'searching' ? PACE_AGE_MS : Math.max(PACE_AGE_MS, waitMs / 4);
  return Math.ceil(Math.min(waitMs, longestMs));
}

function onceOnly(settle: Permit['settle']): Permit['settle'] {
  let isSettled = false;
  return async (end) => {
    if (isSettled) return NOT_REFUSED;
    isSettled = true;
    return await settle(end);
  };
}

function interrupted(): ThriceError {
  return new ThriceError({ code: 'interrupted', message: 'stopped while waiting for its turn' });
}
