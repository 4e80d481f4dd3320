import * as z from 'zod';
import { limits } from '../limits.ts';
import { allowedAtMs, allowedBetween, perMinuteAt, type RisingRate } from './allowed-calls.ts';
import type { Lane } from './benchmark.ts';
import type { LimitSource } from './effective-rate.ts';
import {
  beliefAfterRefusal,
  firstBelief,
  type RateBelief,
  rateBeliefSchema,
} from './rate-belief.ts';
import { allocateShares } from './share-rate.ts';

/** From here on, requests a minute, the pace is not what limits a lane. */
const FREE_FROM_PER_MINUTE = 60_000;
/** After so long without a refusal, the earlier ones say nothing: longer than a blocked lane waits for its next call. */
const FORGOTTEN_AFTER_MS = 2 * limits.quotaBackoffCapMs;
/** A lane whose vendor states its limit is called a little more slowly: the clocks of both sides differ. */
const STATED_RATIO = 0.97;
/** How often the rate of a lane is shared out anew among its groups, ms; less often if that allows but a few requests. */
const SHARED_AFTER_MS = 10_000;
const SHARED_AFTER_REQUESTS = 40;
/** A group that uses less of its share needs no more. */
const CONTENT_RATIO = 0.95;
/** Groups that can share a lane's rate; one that finds no place takes the turns of the first. */
const MAX_GROUPS = 16;
/** How many turns may be made up for if nobody took them in time. */
const MISSED_TURNS = 4;
/** A refusal without a time holds the lane for so many turns, but no longer than a second. */
const HELD_TURNS = 3;
/** A lane that only refuses is held for so much of the time for which it has done so. */
const REFUSING_HOLD_RATIO = 0.2;
/** What was used since a time says nothing before so long, ms. */
const USE_KNOWN_AFTER_MS = 5_000;
/**
 * A worker reads the pace of a lane at most so often, ms. Until then it may not know that the pace has fallen: a lane is
 * first held for so long, and a pace falls again only for calls that were sent so long after the last fall.
 */
export const PACE_AGE_MS = 2_000;

/** Limits a minute; null where there is none. */
const rateLimitsSchema = z.strictObject({
  requestsPerMinute: z.number().positive().nullable(),
  tokensPerMinute: z.number().positive().nullable(),
});
/** Limits a minute; see {@link lanePaceSchema}. */
export type RateLimits = z.infer<typeof rateLimitsSchema>;

const groupTurnsSchema = z.strictObject({
  group: z.string(),
  /** Those of its spec, which bind all groups of the lane. */
  limits: rateLimitsSchema,
  /** How much of the lane's rate is its own, 0..1. */
  shareRatio: z.number().positive().max(1),
  /** Since 1970. */
  baseAtMs: z.number(),
  /** The turn that is due at `baseAtMs`. */
  baseTurn: z.int(),
  /** The tokens of the turns before it. */
  baseTokens: z.number(),
  /** The last turn that was taken before the rate was shared out, and the tokens until then. */
  sharedTurn: z.int(),
  sharedTokens: z.number(),
  /** The last turn that was taken before the pace was read, and not given up since; 0 if none was. */
  lastTurn: z.int(),
  /** The tokens of all turns up to that one. */
  lastTokens: z.number(),
});
/** The turns of a group; see {@link lanePaceSchema}. */
export type GroupTurns = z.infer<typeof groupTurnsSchema>;

/**
 * The pace of a rate-limited lane, shared by all workers of a stage.
 *
 * The callers of each group take turns, which are numbered, with tokens, which are counted. A turn is due when the share of
 * its group in the rate of the lane allows it. The rate rises by itself, so that an answer changes nothing; a
 * change of the pace moves all turns that are not due yet, whoever has taken them.
 */
export const lanePaceSchema = z.strictObject({
  schemaVersion: z.literal(1),
  lane: z.string(),
  /** What its refusals have shown; null if there was none. */
  requests: rateBeliefSchema.nullable(),
  /** The same of tokens. */
  tokens: rateBeliefSchema.nullable(),
  /** What the vendor states. */
  stated: rateLimitsSchema,
  /** By the place of their turns; null where a group has left. */
  groups: z.array(groupTurnsSchema.nullable()),
  /** When the rate was last shared out, since 1970. */
  sharedAtMs: z.number(),
  /** No turn is due before, since 1970. */
  heldUntilMs: z.number(),
  /** When the pace last fell, since 1970. */
  refusedAtMs: z.number(),
  /** When the lane refused the first call since its last answer, since 1970; null if it has answered one since. */
  refusedSinceMs: z.number().nullable(),
  /** When the lane first answered a call after its last refusal, since 1970; null if it never has. */
  answeredAtMs: z.number().nullable(),
  /** Changes with each change of the pace. */
  token: z.string(),
});
/** The pace of a lane; see {@link lanePaceSchema}. */
export type LanePace = z.infer<typeof lanePaceSchema>;

/** A turn that a caller has taken. */
export interface Turn {
  readonly turn: number;
  /** The tokens of the turns before it. */
  readonly tokensBefore: number;
}

/** A time and the token of a change to a pace. */
interface Change {
  readonly nowMs: number;
  readonly token: string;
}

/** No limits. */
export const UNLIMITED: RateLimits = { requestsPerMinute: null, tokensPerMinute: null };

/** The limits of a lane in a spec. */
export function rateLimitsOf({
  requestsPerMinute,
  tokensPerMinute,
}: Pick<Lane, 'requestsPerMinute' | 'tokensPerMinute'>): RateLimits {
  return {
    requestsPerMinute: requestsPerMinute ?? null,
    tokensPerMinute: tokensPerMinute ?? null,
  };
}

/** The pace of a lane that has not refused a call yet. */
export function freePace(lane: string, token: string): LanePace {
  return {
    schemaVersion: 1,
    lane,
    requests: null,
    tokens: null,
    stated: UNLIMITED,
    groups: [],
    sharedAtMs: 0,
    heldUntilMs: 0,
    refusedAtMs: 0,
    refusedSinceMs: null,
    answeredAtMs: null,
    token,
  };
}

/** Whether calls of a lane need turns: a spec or a refusal limits it. */
export function isLimited(pace: LanePace | undefined, nowMs: number): pace is LanePace {
  if (pace === undefined) return false;
  if (pace.heldUntilMs > nowMs || pace.refusedSinceMs !== null) return true;
  if (Number.isFinite(tokenRate(pace).capPerMinute)) return true;
  const isBound = groupsOf(pace).some((each) => each.limits.requestsPerMinute !== null);
  return isBound || perMinuteAt(requestRate(pace), nowMs) < FREE_FROM_PER_MINUTE;
}

/** What a lane is believed to allow at a time, a minute; null where nothing limits it. */
export function ratesAt(pace: LanePace, nowMs: number): RateLimits {
  const finite = (rate: RisingRate) => {
    const perMinute = perMinuteAt(rate, nowMs);
    return Number.isFinite(perMinute) ? perMinute : null;
  };
  return {
    requestsPerMinute: finite(requestRate(pace)),
    tokensPerMinute: finite(tokenRate(pace)),
  };
}

/** Where the limit that counts at a time comes from; null where nothing limits a lane. */
export function limitSource(
  pace: LanePace,
  kind: keyof RateLimits,
  nowMs: number,
): LimitSource | null {
  const perMinute = ratesAt(pace, nowMs)[kind];
  if (perMinute === null) return null;
  if (groupsOf(pace).some((each) => each.limits[kind] === perMinute)) return 'spec';
  return scaled(pace.stated[kind]) === perMinute ? 'header' : 'found';
}

/**
 * How much of the requests that a lane allowed since its pace last changed were made, 0..1; null if too little of that is
 * known.
 */
export function usedRatio(pace: LanePace, nowMs: number): number | null {
  const known = groupsOf(pace).filter((turns) => nowMs - turns.baseAtMs >= USE_KNOWN_AFTER_MS);
  if (known.length === 0) return null;
  const ratios = known.map((turns) => {
    const allowedCount = dueCount(pace, turns, nowMs);
    const takenCount = Math.max(0, turns.lastTurn - turns.baseTurn + 1);
    return allowedCount === 0 ? 1 : Math.min(1, takenCount / allowedCount);
  });
  return known.reduce((sum, { shareRatio }, index) => sum + shareRatio * (ratios[index] ?? 1), 0);
}

/** What was stated counts once a call was refused: an answer of another lane costs no turn. */
function requestRate(pace: LanePace): RisingRate {
  const { requests, stated } = pace;
  const found = requests === null ? [] : [scaled(stated.requestsPerMinute), FREE_FROM_PER_MINUTE];
  const own = groupsOf(pace).map((each) => each.limits.requestsPerMinute);
  return risingSince(pace, requests, lowestOf([...own, ...found]));
}

function tokenRate(pace: LanePace): RisingRate {
  const { requests, tokens, stated } = pace;
  const hasRefused = requests !== null || tokens !== null;
  const own = groupsOf(pace).map((each) => each.limits.tokensPerMinute);
  const found = hasRefused ? [scaled(stated.tokensPerMinute)] : [];
  return risingSince(pace, tokens, lowestOf([...own, ...found]));
}

/** A rate rises only while the lane answers. */
function risingSince(
  { refusedSinceMs }: LanePace,
  belief: RateBelief | null,
  capPerMinute: number,
): RisingRate {
  if (belief === null || refusedSinceMs === null) return { belief, capPerMinute };
  return { belief: null, capPerMinute: Math.min(capPerMinute, belief.perMinute) };
}

function scaled(perMinute: number | null): number | null {
  return perMinute === null ? null : perMinute * STATED_RATIO;
}

function lowestOf(bounds: readonly (number | null)[]): number {
  return Math.min(...bounds.filter((each) => each !== null));
}

/** The groups that call a lane. */
function groupsOf({ groups }: LanePace): readonly GroupTurns[] {
  return groups.filter((each) => each !== null);
}

/** The place of a group's turns; undefined if it has none and there is one left. */
export function placeOf(pace: LanePace, group: string): number | undefined {
  const place = pace.groups.findIndex((each) => each?.group === group);
  if (place !== -1) return place;
  return groupsOf(pace).length >= MAX_GROUPS ? 0 : undefined;
}

/** When a turn of the group at a place is due, ms since 1970. Turns before the base are due with it. */
export function dueAtMs(pace: LanePace, place: number, { turn, tokensBefore }: Turn): number {
  const turns = pace.groups[place];
  if (!turns) return pace.heldUntilMs;
  const { baseAtMs, baseTurn, baseTokens, shareRatio } = turns;
  const atMs = Math.max(
    allowedAtMs(requestRate(pace), baseAtMs, (turn - baseTurn) / shareRatio),
    allowedAtMs(tokenRate(pace), baseAtMs, (tokensBefore - baseTokens) / shareRatio),
  );
  return Math.max(pace.heldUntilMs, atMs);
}

/** The next turn that nobody of the group at a place has taken. */
export function nextTurn(pace: LanePace, place: number): Turn {
  const turns = pace.groups[place];
  return { turn: (turns?.lastTurn ?? 0) + 1, tokensBefore: turns?.lastTokens ?? 0 };
}

/** The time between two turns of a group at a time, ms. */
export function intervalMs(pace: LanePace, place: number, nowMs: number): number {
  const perMinute = perMinuteAt(requestRate(pace), nowMs) * (pace.groups[place]?.shareRatio ?? 1);
  return 60_000 / perMinute;
}

/** Whether a turn was due so long ago that its group has not used its share. */
export function isOverdue(pace: LanePace, place: number, turn: Turn, nowMs: number): boolean {
  const missedMs = Math.max(1_000 / MISSED_TURNS, intervalMs(pace, place, nowMs)) * MISSED_TURNS;
  return dueAtMs(pace, place, turn) < nowMs - missedMs;
}

/** Whether the refusal of a call says that a pace is too fast: calls that were in flight together are refused together. */
export function isNewRefusal(pace: LanePace, sentAtMs: number): boolean {
  return sentAtMs >= pace.refusedAtMs + PACE_AGE_MS;
}

/**
 * Whether a lane has refused all calls for so long that it should be blocked. Refusals with a long time between them
 * do not count together: no call was made meanwhile.
 */
export function hasOnlyRefused({ refusedSinceMs }: LanePace, nowMs: number): boolean {
  return refusedSinceMs !== null && nowMs - refusedSinceMs >= limits.longestHoldMs;
}

/** A refused call. */
export interface RefusedCall {
  readonly group: string;
  /** Whether it keeps its turn, which will be the first. */
  readonly keepsTurn: boolean;
  readonly sentAtMs: number;
  /** How long the vendor asks to wait; undefined where it does not say. */
  readonly retryAfterMs: number | undefined;
  /** What refused it, where that is known. */
  readonly bound: 'requests' | 'tokens' | null;
  readonly tokens: number;
}

/** The pace after a refusal: slower, and held until the vendor takes calls again. */
export function afterRefusal(
  pace: LanePace,
  call: RefusedCall,
  { nowMs, token }: Change,
): LanePace {
  const isFirst = pace.refusedSinceMs === null || nowMs - pace.refusedAtMs >= FORGOTTEN_AFTER_MS;
  const refusedSinceMs = isFirst ? nowMs : (pace.refusedSinceMs ?? nowMs);
  const noted = { ...pace, refusedAtMs: nowMs, refusedSinceMs, token };
  if (!isLimited(pace, nowMs)) return afterFirstRefusal(pace, noted, call, nowMs);
  const slowed = { ...noted, ...slowedBeliefs(pace, call, nowMs) };
  const turnsMs = (HELD_TURNS * 60_000) / perMinuteAt(requestRate(slowed), nowMs);
  const refusingMs = REFUSING_HOLD_RATIO * (nowMs - refusedSinceMs);
  const guessedMs = Math.max(refusingMs, Math.min(1_000, turnsMs));
  const heldUntilMs = nowMs + (call.retryAfterMs ?? guessedMs);
  const moved = rebased(pace, slowed, nowMs, heldUntilMs);
  const held = { ...(call.keepsTurn ? withTurnBefore(moved, call.group) : moved), heldUntilMs };
  return isFirst ? held : withoutLateTurns(held, nowMs);
}

/** Those who do not know yet that the lane is limited call on: it is held for at least as long. */
function afterFirstRefusal(
  before: LanePace,
  noted: LanePace,
  { retryAfterMs }: RefusedCall,
  nowMs: number,
): LanePace {
  const heldUntilMs = nowMs + Math.max(PACE_AGE_MS, retryAfterMs ?? 0);
  const first = { ...firstBelief({ nowMs, retryAfterMs }, { perCall: 1 }), fellAtMs: heldUntilMs };
  const stated = scaled(before.stated.requestsPerMinute);
  const requests: RateBelief =
    stated === null ? first : { ...first, perMinute: stated, phase: 'approaching' };
  return { ...rebased(before, { ...noted, requests }, nowMs, heldUntilMs), heldUntilMs };
}

function slowedBeliefs(
  pace: LanePace,
  { sentAtMs, retryAfterMs, bound, tokens }: RefusedCall,
  nowMs: number,
): Pick<LanePace, 'requests' | 'tokens'> {
  const slow = (
    known: RateBelief | null,
    { rate, perCall, ratio }: { rate: RisingRate; perCall: number; ratio: number },
  ): RateBelief => {
    const perMinute = perMinuteAt(rate, nowMs);
    const belief = known ?? {
      perMinute,
      perCall,
      takenPerMinute: 0,
      fellAtMs: 0,
      waitMs: 0,
      phase: 'found' as const,
    };
    // Counted from the last refusal, as `isNewRefusal` does.
    const lagMs = pace.refusedAtMs + PACE_AGE_MS - belief.fellAtMs;
    // A rate rises beyond its cap, which nobody uses.
    return beliefAfterRefusal(belief, {
      nowMs,
      retryAfterMs,
      sentAtMs,
      lagMs,
      usedPerMinute: perMinute * ratio,
      refusedRatio: 0,
    });
  };
  const rate = tokenRate(pace);
  if (bound === 'tokens' && Number.isFinite(perMinuteAt(rate, nowMs))) {
    return {
      requests: pace.requests,
      tokens: slow(pace.tokens, { rate, perCall: Math.max(1, tokens), ratio: 1 }),
    };
  }
  return {
    requests: slow(pace.requests, {
      rate: requestRate(pace),
      perCall: 1,
      ratio: usedRatio(pace, nowMs) ?? 1,
    }),
    tokens: pace.tokens,
  };
}

/** The pace after an answer that follows refusals: the lane works. */
export function afterAnswer(pace: LanePace, { nowMs, token }: Change): LanePace {
  const isBlocked = hasOnlyRefused(pace, nowMs);
  const rising = (belief: RateBelief | null) =>
    // What was found before the lane only refused calls says nothing about its limit now.
    belief && {
      ...belief,
      fellAtMs: Math.max(nowMs, belief.fellAtMs),
      phase: isBlocked ? 'searching' : belief.phase,
    };
  const beliefs = { requests: rising(pace.requests), tokens: rising(pace.tokens) };
  const answered = { ...pace, ...beliefs, refusedSinceMs: null, answeredAtMs: nowMs, token };
  return rebased(pace, answered, nowMs, nowMs);
}

/** The pace of a lane whose group was not calling for a while: the turns that passed unused are lost. */
export function afterIdling(
  pace: LanePace,
  { place, turn, nowMs, token }: Change & { readonly place: number; readonly turn: Turn },
): LanePace {
  const groups = pace.groups.map((each, index) =>
    index === place && each !== null
      ? { ...each, baseTurn: turn.turn, baseTokens: turn.tokensBefore, baseAtMs: nowMs }
      : each,
  );
  return { ...pace, groups, token };
}

/** The pace of a lane whose vendor states its limits. */
export function afterStatement(
  pace: LanePace,
  stated: RateLimits,
  { nowMs, token }: Change,
): LanePace {
  return rebased(pace, { ...pace, stated, token }, nowMs, nowMs);
}

/** The pace of a lane that one more group calls, or with other limits in its spec. */
export function afterJoining(
  pace: LanePace,
  {
    group,
    limits: own,
    nowMs,
    token,
  }: Change & { readonly group: string; readonly limits: RateLimits },
): LanePace {
  const baseAtMs = Math.max(nowMs, pace.heldUntilMs);
  const none = { sharedTurn: 0, sharedTokens: 0, lastTurn: 0, lastTokens: 0 };
  const first = { group, baseAtMs, baseTurn: 1, baseTokens: 0, ...none };
  const known = placeOf(pace, group) ?? pace.groups.indexOf(null);
  const place = known === -1 ? pace.groups.length : known;
  const turns = pace.groups[place] ?? { ...first, shareRatio: 1 };
  const groups = pace.groups.toSpliced(place, 1, { ...turns, limits: own });
  return afterSharing({ ...pace, groups }, { nowMs, token }, group);
}

/** Whether the rate of a lane should be shared out anew: what its groups need may have changed. */
export function isSharedLongAgo(pace: LanePace, nowMs: number): boolean {
  if (groupsOf(pace).length < 2 || nowMs - pace.sharedAtMs < SHARED_AFTER_MS) return false;
  return allowedBetween(requestRate(pace), pace.sharedAtMs, nowMs) >= SHARED_AFTER_REQUESTS;
}

/**
 * The pace of a lane whose rate is shared out anew among its groups: equally, but none gets more than it needs. Groups that
 * do not call any more lose their place.
 *
 * @param joining - A group whose needs are not known yet.
 */
export function afterSharing(pace: LanePace, { nowMs, token }: Change, joining?: string): LanePace {
  const needs = pace.groups.map((turns, place) =>
    turns?.group === joining ? Number.POSITIVE_INFINITY : neededRatio(pace, place, nowMs),
  );
  const shares = [...allocateShares(needs.filter((need) => need > 0))];
  const moved = rebased(pace, { ...pace, sharedAtMs: nowMs, token }, nowMs, nowMs);
  const groups = moved.groups.map((turns, place) =>
    turns === null || needs[place] === 0
      ? null
      : {
          ...turns,
          shareRatio: shares.shift() ?? 1,
          sharedTurn: turns.lastTurn,
          sharedTokens: turns.lastTokens,
        },
  );
  return { ...moved, groups };
}

/** The share of a lane's rate that a group needs: more than all if it uses all of its own, 0 if it has stopped to call. */
function neededRatio(pace: LanePace, place: number, nowMs: number): number {
  const turns = pace.groups[place];
  if (!turns) return 0;
  const { sharedTurn, sharedTokens, lastTurn, lastTokens, shareRatio } = turns;
  const { sharedAtMs } = pace;
  if (nowMs - sharedAtMs < USE_KNOWN_AFTER_MS) return shareRatio;
  const ratio = Math.max(
    Math.max(0, lastTurn - sharedTurn) / allowedBetween(requestRate(pace), sharedAtMs, nowMs),
    Math.max(0, lastTokens - sharedTokens) / allowedBetween(tokenRate(pace), sharedAtMs, nowMs),
  );
  const last = { turn: lastTurn, tokensBefore: lastTokens };
  // Its callers may wait so long that none has taken a turn of late.
  const isWaiting = ratio === 0 && dueAtMs(pace, place, last) > nowMs;
  return ratio < CONTENT_RATIO * shareRatio && !isWaiting ? ratio : Number.POSITIVE_INFINITY;
}

/**
 * Moves the base of all turns to the first that is not due yet, or that nobody has taken, so that a change moves no turn
 * that is due.
 *
 * @param before - By which turns were due until now.
 * @param pace - The changed pace.
 * @param fromMs - When the first turn is due at the earliest.
 */
function rebased(before: LanePace, pace: LanePace, nowMs: number, fromMs: number): LanePace {
  const groups = pace.groups.map((turns) => {
    if (turns === null) return null;
    const passed = dueCount(before, turns, nowMs);
    const baseTurn = Math.min(
      turns.baseTurn + passed,
      Math.max(turns.baseTurn, turns.lastTurn + 1),
    );
    const atMs = allowedAtMs(
      requestRate(before),
      turns.baseAtMs,
      (baseTurn - turns.baseTurn) / turns.shareRatio,
    );
    const baseAtMs = Math.max(fromMs === nowMs ? 0 : fromMs, atMs);
    const passedTokens = allowedBetween(tokenRate(before), turns.baseAtMs, Math.max(atMs, nowMs));
    const baseTokens = Math.min(
      turns.baseTokens + passedTokens * turns.shareRatio,
      Math.max(turns.baseTokens, turns.lastTokens),
    );
    return { ...turns, baseTurn, baseTokens, baseAtMs };
  });
  return { ...pace, groups };
}

/** Leaves a group the time of one turn before all others. */
function withTurnBefore(pace: LanePace, group: string): LanePace {
  const groups = pace.groups.map((turns) =>
    turns?.group === group ? { ...turns, baseTurn: turns.baseTurn - 1 } : turns,
  );
  return { ...pace, groups };
}

/** How many turns have become due since the base, with the one that is due there. */
function dueCount(pace: LanePace, turns: GroupTurns, nowMs: number): number {
  const { baseAtMs, shareRatio } = turns;
  if (nowMs < Math.max(baseAtMs, pace.heldUntilMs)) return 0;
  return Math.floor(allowedBetween(requestRate(pace), baseAtMs, nowMs) * shareRatio) + 1;
}

/**
 * Gives up the turns that have become too late for their callers to wait for them, so that the next callers take them
 * again. Without this, a lane that only refuses would stand still until the turns of callers that are gone have passed. A
 * caller at the limit may keep its turn, so that two have the same: too often for a lane that answers.
 */
function withoutLateTurns(pace: LanePace, nowMs: number): LanePace {
  const groups = pace.groups.map((turns) => {
    if (turns === null) return null;
    const { baseAtMs, baseTurn, shareRatio, lastTurn, lastTokens, baseTokens } = turns;
    const untilMs = nowMs + limits.laneWaitMs;
    const inTime = allowedBetween(requestRate(pace), baseAtMs, untilMs) * shareRatio;
    const last = Math.max(baseTurn - 1, baseTurn + Math.floor(inTime));
    if (!(last < lastTurn)) return turns;
    const keptRatio = (last - baseTurn + 1) / (lastTurn - baseTurn + 1);
    const keptTokens = baseTokens + Math.round((lastTokens - baseTokens) * keptRatio);
    return { ...turns, lastTurn: last, lastTokens: keptTokens };
  });
  return { ...pace, groups };
}
