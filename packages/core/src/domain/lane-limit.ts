import * as z from 'zod';
import {
  beliefAfterRefusal,
  beliefAfterUse,
  believedPerMinute,
  firstBelief,
  type RateBelief,
  rateBeliefSchema,
} from './rate-belief.ts';
import { NO_EVIDENCE, refusalEvidenceSchema, weighRefusal } from './refusal-evidence.ts';

/** The time that a block of the lane's rate covers for one process, ms. */
export const BLOCK_MS = 500;
/** A lane that is leased for so long ahead, ms, is leased no further to a group that had more than another. */
const LEASED_AHEAD_MS = 150;
/** The longest lateness that is made up for, ms. */
const MAX_LATE_MS = 250;
/** How much of the tolerated lateness a block may begin back: what nobody used while every process was late is not lost. */
const LATE_RATIO = 0.8;
/** A process that was not heard of for so long, ms, no longer counts: it was killed. */
export const HOLDER_AGE_MS = 5_000;
/** The processes that share too few slots take turns of so long, ms. */
const ROTATION_MS = 10_000;
/** The use of a lane is counted in windows of so long, ms. */
const WINDOW_MS = 10_000;
/** What refusals have shown says nothing after so long without one, ms. */
const FORGOTTEN_AFTER_MS = 3_600_000;
/** A vendor that states its limit does so with each answer: what it has not repeated for so long, ms, holds no more. */
const STATED_AGE_MS = 300_000;
/** How much of a limit that its vendor states is used: clocks and paths differ. */
const STATED_RATIO = 0.98;
/** A limit is not what refused a call if less than this share of it was in use. */
const IN_USE_RATIO = 0.85;
/** A rate that has risen so high, in calls a minute, is no limit. */
const FREE_ABOVE_CALLS_PER_MINUTE = 600_000;
/** How long a process may not know that a rate has fallen, ms. */
const LAG_MS = 400;

const statedSchema = z.strictObject({ perMinute: z.number().positive(), atMs: z.number() });

/** One rate of a lane: requests or tokens a minute. */
const laneRateSchema = z.strictObject({
  /** What the vendor states in its headers. */
  stated: statedSchema.nullable(),
  /** What refusals have shown. */
  found: rateBeliefSchema.nullable(),
  /** All of the rate before this time is leased, ms since 1970. */
  nextAtMs: z.number(),
  /** The time that was leased to each group beyond what was leased to the one with the least, ms; of those that wait. */
  served: z.record(z.string(), z.number()),
  /** Used in the current window and in the one before. */
  used: z.number(),
  usedBefore: z.number(),
});
type LaneRate = z.infer<typeof laneRateSchema>;

/** A process that uses a lane. */
const holderSchema = z.strictObject({
  group: z.string(),
  seenAtMs: z.number(),
  /** Calls in flight. */
  inUse: z.int(),
  /** Callers that wait for a permit. */
  waiting: z.int(),
  /** Calls in flight at most, of those that all may have; null without a limit. */
  slots: z.int().nullable(),
  /** What the spec of its group says. */
  requestsPerMinute: z.number().nullable(),
  tokensPerMinute: z.number().nullable(),
  maxConcurrency: z.int().nullable(),
});
type Holder = z.infer<typeof holderSchema>;

/**
 * The limits of a lane's account, which all processes that share a ledger hold together.
 *
 * Processes lease the rate in blocks: a block is a time in which one process alone may use a rate, and no two blocks of a rate
 * cover the same time. How much it may use in it follows from the rate that is believed by then, so that a change of
 * the rate needs no new leases. The block of a process that dies passes by itself. Between two leases a process needs no
 * write.
 */
export const laneLimitSchema = z.strictObject({
  schemaVersion: z.literal(1),
  requests: laneRateSchema,
  tokens: laneRateSchema,
  /** Whether its refusals show a limit. */
  evidence: refusalEvidenceSchema,
  /** No call before this time, ms since 1970, and what the vendor said. */
  heldUntilMs: z.number(),
  reason: z.string().nullable(),
  /** When the current window began. */
  windowAtMs: z.number(),
  /** When a process last reported, ms since 1970. */
  exchangedAtMs: z.number(),
  /** By owner. */
  holders: z.record(z.string(), holderSchema),
});
/** The limits of a lane's account; see {@link laneLimitSchema}. */
export type LaneLimit = z.infer<typeof laneLimitSchema>;

/** Where a limit is known from: the spec, the vendor's headers, or refusals. */
export type LimitSource = 'spec' | 'header' | 'found';

/** The limit in force, a minute. */
export interface EffectiveRate {
  readonly perMinute: number;
  readonly source: LimitSource;
}

/** A time in which a process alone may use a rate of a lane. */
export interface Block {
  /** Since 1970; the same if nothing is leased. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** Time between two requests, or two tokens, ms. */
  readonly msPerUnit: number;
  /** How much a process may lease ahead. */
  readonly most: number;
}

/** A call that the vendor refused. */
export interface RefusedCall {
  readonly sentAtMs: number;
  readonly retryAfterMs: number | undefined;
  /** The limit that the vendor names; null if it names none. */
  readonly named: 'requests' | 'tokens' | null;
  /** What the vendor said, for people. */
  readonly reason: string;
}

/** What a process has to say of a lane since it last did, and what it wants. */
export interface LaneReport {
  readonly owner: string;
  readonly group: string;
  readonly inUse: number;
  readonly waiting: number;
  readonly spec: Pick<Holder, 'requestsPerMinute' | 'tokensPerMinute' | 'maxConcurrency'>;
  /** Calls sent since, and the tokens reserved for them. */
  readonly used: { readonly requests: number; readonly tokens: number };
  /** Tokens that were reserved for calls that used fewer; below 0 for more. */
  readonly returnedTokens: number;
  readonly stated: { readonly requests: number | null; readonly tokens: number | null };
  readonly refusals: readonly RefusedCall[];
  /** Requests and tokens that its callers wait for; how many of them it gets depends on the others. */
  readonly wants: { readonly requests: number; readonly tokens: number; readonly first: number };
}

/** What a process may do. */
export interface LaneShare {
  readonly heldUntilMs: number;
  readonly reason: string | null;
  /** Calls in flight at most; null without a limit. */
  readonly slots: number | null;
  /** Null where the lane has no limit in requests, or in tokens. */
  readonly requests: Block | null;
  readonly tokens: Block | null;
}

/**
 * How late a call may be sent without those after it being later: what it may take of a bucket that holds the calls of a
 * second, and at least one.
 *
 * @param unitMs - The time of one call at the lane's rate.
 */
export function lateToleranceMs(unitMs: number): number {
  return Math.max(0, Math.min(MAX_LATE_MS, (1_000 - unitMs) / 4));
}

/** The limits of a lane of which nothing is known. */
export function unknownLimit(nowMs: number): LaneLimit {
  const rate: LaneRate = {
    stated: null,
    found: null,
    nextAtMs: 0,
    served: {},
    used: 0,
    usedBefore: 0,
  };
  return {
    schemaVersion: 1,
    requests: rate,
    tokens: rate,
    evidence: NO_EVIDENCE,
    heldUntilMs: 0,
    reason: null,
    windowAtMs: nowMs,
    exchangedAtMs: nowMs,
    holders: {},
  };
}

/** The rate in force: the lowest of what specs say, the vendor states, and refusals have shown. Null if none is known. */
export function effectiveRate(
  limit: LaneLimit,
  kind: 'requests' | 'tokens',
  nowMs: number,
): EffectiveRate | null {
  const { stated, found } = limit[kind];
  const field = kind === 'requests' ? 'requestsPerMinute' : 'tokensPerMinute';
  const rates: EffectiveRate[] = activeHolders(limit, nowMs).flatMap(({ [field]: perMinute }) =>
    perMinute === null ? [] : [{ perMinute, source: 'spec' }],
  );
  if (stated !== null && nowMs - stated.atMs < STATED_AGE_MS)
    rates.push({ perMinute: stated.perMinute * STATED_RATIO, source: 'header' });
  if (isLimiting(found, nowMs))
    rates.push({ perMinute: believedPerMinute(found, nowMs), source: 'found' });
  return rates.reduce<EffectiveRate | null>(
    (lowest, rate) => (lowest === null || rate.perMinute < lowest.perMinute ? rate : lowest),
    null,
  );
}

/** Calls in flight at most, of all processes; null without a limit. */
export function concurrencyLimit(limit: LaneLimit, nowMs: number): number | null {
  const limits = activeHolders(limit, nowMs).flatMap(({ maxConcurrency }) => maxConcurrency ?? []);
  return limits.length === 0 ? null : Math.min(...limits);
}

/** Calls in flight, of all processes. */
export function callsInFlight(limit: LaneLimit, nowMs: number): number {
  return activeHolders(limit, nowMs).reduce((sum, { inUse }) => sum + inUse, 0);
}

/** What was used of late, a minute. */
export function usedPerMinute(
  { windowAtMs, ...limit }: LaneLimit,
  kind: 'requests' | 'tokens',
  nowMs: number,
): number {
  const { used, usedBefore } = limit[kind];
  const elapsedMs = Math.max(0, nowMs - windowAtMs);
  if (elapsedMs >= 2 * WINDOW_MS) return 0;
  const before = elapsedMs >= WINDOW_MS ? used : usedBefore;
  const current = elapsedMs >= WINDOW_MS ? 0 : used;
  const elapsedRatio = (elapsedMs % WINDOW_MS) / WINDOW_MS;
  return ((current + before * (1 - elapsedRatio)) * 60_000) / WINDOW_MS;
}

/** Takes what a process reports into account, and leases it what it may use. */
export function exchangeShare(
  existing: LaneLimit,
  report: LaneReport,
  nowMs: number,
): { readonly limit: LaneLimit; readonly share: LaneShare } {
  const known = withStated(onPresentClock(existing, nowMs), report, nowMs);
  const limit = weighReport(
    countUse(withHolder(known, report, nowMs), report, nowMs),
    report,
    nowMs,
  );
  const slots = slotsOf(limit, report.owner, nowMs);
  const requests = lease(limit, 'requests', report, nowMs);
  const tokens = lease(limit, 'tokens', report, nowMs);
  const holder = limit.holders[report.owner];
  const { heldUntilMs, reason } = limit;
  return {
    limit: {
      ...limit,
      requests: requests.rate,
      tokens: tokens.rate,
      holders:
        holder === undefined
          ? limit.holders
          : { ...limit.holders, [report.owner]: { ...holder, slots } },
    },
    share: { heldUntilMs, reason, slots, requests: requests.block, tokens: tokens.block },
  };
}

/** Forgets a process that has ended; undefined if nothing is left to remember. */
export function withoutHolder(limit: LaneLimit, owner: string): LaneLimit | undefined {
  const { [owner]: _, ...holders } = limit.holders;
  const { requests, tokens } = limit;
  const facts = [requests.found, requests.stated, tokens.found, tokens.stated];
  const isKnown = facts.some((fact) => fact !== null) || Object.keys(holders).length > 0;
  // What it has used counts for the next one, which may start at once.
  const isLeasedAhead = Math.max(requests.nextAtMs, tokens.nextAtMs) > limit.exchangedAtMs;
  return isKnown || isLeasedAhead ? { ...limit, holders } : undefined;
}

function activeHolders({ holders }: LaneLimit, nowMs: number): readonly Holder[] {
  // Seen later than now: the clock was set back.
  return Object.values(holders).filter(
    ({ seenAtMs }) => Math.abs(nowMs - seenAtMs) < HOLDER_AGE_MS,
  );
}

function withHolder(limit: LaneLimit, report: LaneReport, nowMs: number): LaneLimit {
  const { owner, group, inUse, waiting, spec } = report;
  const slots = limit.holders[owner]?.slots ?? 0;
  const others = Object.entries(limit.holders).filter(
    ([name, { seenAtMs }]) => name !== owner && Math.abs(nowMs - seenAtMs) < HOLDER_AGE_MS,
  );
  const own = { group, seenAtMs: nowMs, inUse, waiting, slots, ...spec };
  const holders = [...others, [owner, own] as const].sort(([a], [b]) => (a < b ? -1 : 1));
  return { ...limit, holders: Object.fromEntries(holders) };
}

function countUse(
  limit: LaneLimit,
  { used, returnedTokens }: LaneReport,
  nowMs: number,
): LaneLimit {
  const elapsedMs = nowMs - limit.windowAtMs;
  const isOver = elapsedMs >= WINDOW_MS || elapsedMs < 0;
  const isLong = elapsedMs >= 2 * WINDOW_MS || elapsedMs < 0;
  const count = (rate: LaneRate, added: number): LaneRate => {
    const usedBefore = isLong ? 0 : isOver ? rate.used : rate.usedBefore;
    return { ...rate, used: Math.max(0, (isOver ? 0 : rate.used) + added), usedBefore };
  };
  const windowAtMs = isLong ? nowMs : isOver ? limit.windowAtMs + WINDOW_MS : limit.windowAtMs;
  const requests = count(limit.requests, used.requests);
  const tokens = count(limit.tokens, used.tokens - returnedTokens);
  const counted = { ...limit, windowAtMs, requests, tokens };
  const rate = effectiveRate(limit, 'tokens', nowMs);
  if (rate === null) return counted;
  const nextAtMs = tokens.nextAtMs - (returnedTokens * 60_000) / rate.perMinute;
  return { ...counted, tokens: { ...tokens, nextAtMs } };
}

function withStated(limit: LaneLimit, { stated }: LaneReport, nowMs: number): LaneLimit {
  const note = (rate: LaneRate, perMinute: number | null): LaneRate =>
    perMinute === null ? rate : { ...rate, stated: { perMinute, atMs: nowMs } };
  return {
    ...limit,
    requests: note(limit.requests, stated.requests),
    tokens: note(limit.tokens, stated.tokens),
  };
}

/** Moves all times back with a clock that was set back: what was to come in a second would come in an hour. */
function onPresentClock(limit: LaneLimit, nowMs: number): LaneLimit {
  const shiftMs = limit.exchangedAtMs - nowMs;
  if (shiftMs <= 0) return { ...limit, exchangedAtMs: nowMs };
  const shift = (rate: LaneRate): LaneRate => ({
    ...rate,
    nextAtMs: rate.nextAtMs - shiftMs,
    found: rate.found === null ? null : { ...rate.found, fellAtMs: rate.found.fellAtMs - shiftMs },
  });
  return {
    ...limit,
    exchangedAtMs: nowMs,
    windowAtMs: limit.windowAtMs - shiftMs,
    heldUntilMs: limit.heldUntilMs - shiftMs,
    evidence: { ...limit.evidence, weighedAtMs: limit.evidence.weighedAtMs - shiftMs },
    requests: shift(limit.requests),
    tokens: shift(limit.tokens),
  };
}

/** Weighs the refusals of a process, each with its part of the calls: refusals come back sooner than answers. */
function weighReport(limit: LaneLimit, { used, refusals }: LaneReport, nowMs: number): LaneLimit {
  const withCalls = ({ evidence, ...rest }: LaneLimit, calls: number): LaneLimit => ({
    ...rest,
    evidence: { ...evidence, calls: evidence.calls + calls },
  });
  if (refusals.length === 0) return withCalls(limit, used.requests);
  const calls = used.requests / refusals.length;
  return refusals.reduce(
    (slowed, refusal) => afterRefusal(withCalls(slowed, calls), refusal, nowMs),
    limit,
  );
}

/**
 * Lowers what is believed, and holds the lane for as long as the vendor asks, if a refusal shows a limit. Otherwise it is
 * chance, and only the refused cell waits.
 */
function afterRefusal(limit: LaneLimit, refusal: RefusedCall, nowMs: number): LaneLimit {
  const { sentAtMs, named } = refusal;
  const kinds = named === null ? suspectsOf(limit, nowMs) : [named];
  const beliefs = kinds.map((kind) => limit[kind].found).filter((each) => isLimiting(each, nowMs));
  const isKnown = beliefs.some((each) => sentAtMs < each.fellAtMs + lagMs(limit, each, nowMs));
  if (isKnown) return heldFor(limit, refusal, nowMs);
  const isUseKnown = kinds.every((kind) => limit[kind].usedBefore > 0);
  const weighedRefusal = { nowMs, sentAtMs, beliefs, isUseKnown };
  const { evidence, refusedRatio } = weighRefusal(limit.evidence, weighedRefusal);
  const weighed = { ...limit, evidence };
  if (refusedRatio === undefined) return weighed;
  const fallen = (kind: 'requests' | 'tokens'): LaneRate =>
    kinds.includes(kind)
      ? { ...limit[kind], found: lower(weighed, kind, { ...refusal, refusedRatio }, nowMs) }
      : limit[kind];
  const slowed = { ...weighed, requests: fallen('requests'), tokens: fallen('tokens') };
  return heldFor(slowed, refusal, nowMs);
}

/** Holds the lane for as long as the vendor asks. */
function heldFor(
  limit: LaneLimit,
  { retryAfterMs = 0, reason }: RefusedCall,
  nowMs: number,
): LaneLimit {
  const heldUntilMs = nowMs + retryAfterMs;
  return heldUntilMs <= limit.heldUntilMs ? limit : { ...limit, heldUntilMs, reason };
}

/** How long after a fall calls may be sent by processes that do not know of it: each may have leased one more. */
function lagMs(limit: LaneLimit, { perCall, perMinute }: RateBelief, nowMs: number): number {
  return LAG_MS + (activeHolders(limit, nowMs).length * 60_000 * perCall) / perMinute;
}

/**
 * The limits that may have refused a call whose vendor does not say which: those that are known and were in use. Where
 * none is, the number of calls is what is lowered, which lowers the tokens with it.
 */
function suspectsOf(limit: LaneLimit, nowMs: number): readonly ('requests' | 'tokens')[] {
  const suspects = (['requests', 'tokens'] as const).filter((kind) => {
    const rate = effectiveRate(limit, kind, nowMs);
    return rate !== null && usedPerMinute(limit, kind, nowMs) >= IN_USE_RATIO * rate.perMinute;
  });
  return suspects.length === 0 ? ['requests'] : suspects;
}

function lower(
  limit: LaneLimit,
  kind: 'requests' | 'tokens',
  refusal: RefusedCall & { readonly refusedRatio: number },
  nowMs: number,
): RateBelief | null {
  const { found } = limit[kind];
  const { retryAfterMs, sentAtMs, refusedRatio } = refusal;
  if (isLimiting(found, nowMs)) {
    return beliefAfterRefusal(found, {
      ...{ nowMs, retryAfterMs, sentAtMs, refusedRatio },
      lagMs: lagMs(limit, found, nowMs),
    });
  }
  const perCall = kind === 'requests' ? 1 : tokensPerCall(limit);
  if (perCall === null) return null;
  const first = firstBelief({ nowMs, retryAfterMs }, { perCall });
  // Neither the spec nor the vendor's headers allow more than that.
  const rate = effectiveRate(limit, kind, nowMs)?.perMinute ?? Number.POSITIVE_INFINITY;
  const used = limit[kind].usedBefore > 0 ? usedPerMinute(limit, kind, nowMs) : 0;
  const perMinute = used > 0 ? Math.min(rate, used) : rate;
  return Number.isFinite(perMinute) ? beliefAfterUse(first, { perMinute, refusedRatio }) : first;
}

/** Whether a belief still limits a lane. */
function isLimiting(found: RateBelief | null, nowMs: number): found is RateBelief {
  if (found === null || nowMs - found.fellAtMs >= FORGOTTEN_AFTER_MS) return false;
  return believedPerMinute(found, nowMs) < FREE_ABOVE_CALLS_PER_MINUTE * found.perCall;
}

/** The tokens of an average call of late; null if none was counted. */
function tokensPerCall({ requests, tokens }: LaneLimit): number | null {
  const calls = requests.used + requests.usedBefore;
  const perCall = calls === 0 ? 0 : (tokens.used + tokens.usedBefore) / calls;
  return perCall > 0 ? perCall : null;
}

/** Leases as much of a rate as a process wants, unless its group is ahead of another that waits. */
function lease(
  limit: LaneLimit,
  kind: 'requests' | 'tokens',
  report: LaneReport,
  nowMs: number,
): { readonly block: Block | null; readonly rate: LaneRate } {
  const rate = limit[kind];
  const perMinute = effectiveRate(limit, kind, nowMs)?.perMinute;
  if (perMinute === undefined) return { block: null, rate: { ...rate, served: {} } };
  const msPerUnit = 60_000 / perMinute;
  const unit = kind === 'requests' ? 1 : Math.max(1, report.wants.first);
  const unitMs = unit * msPerUnit;
  const most = Math.max(unit, BLOCK_MS / msPerUnit);
  const wanted = Math.min(report.wants[kind], kind === 'requests' ? Math.floor(most) : most);
  const lateMs = LATE_RATIO * lateToleranceMs(unitMs);
  const fromMs = Math.max(nowMs - lateMs, rate.nextAtMs, limit.heldUntilMs);
  const served = servedOf(limit, kind, report.group, nowMs);
  const isAhead = (served[report.group] ?? 0) > Math.max(BLOCK_MS, unitMs);
  // As long as the lane is leased ahead, it does not stand still while the others catch up.
  const canRefuse = fromMs - nowMs > LEASED_AHEAD_MS;
  const amount = wanted <= 0 || (isAhead && canRefuse) ? 0 : wanted;
  const untilMs = fromMs + amount * msPerUnit;
  const ownMs = (served[report.group] ?? 0) + untilMs - fromMs;
  return {
    block: { fromMs, untilMs, msPerUnit, most },
    rate: {
      ...rate,
      nextAtMs: amount === 0 ? rate.nextAtMs : untilMs,
      served: { ...served, [report.group]: ownMs },
    },
  };
}

/**
 * The time that each group was leased more than the one that was leased least, of the groups whose callers wait. One
 * that has not waited before begins as the one that was leased least: it saves nothing up.
 */
function servedOf(
  limit: LaneLimit,
  kind: 'requests' | 'tokens',
  own: string,
  nowMs: number,
): Readonly<Record<string, number>> {
  const { served } = limit[kind];
  const waiting = activeHolders(limit, nowMs).flatMap(({ group, waiting: count }) =>
    count > 0 || group === own ? [group] : [],
  );
  const known = waiting.flatMap((group) => served[group] ?? []);
  const leastMs = known.length === 0 ? 0 : Math.min(...known);
  return Object.fromEntries(waiting.map((group) => [group, (served[group] ?? leastMs) - leastMs]));
}

/** Calls in flight that a process may have: a fair part of what all may, as far as the others leave it. */
function slotsOf(limit: LaneLimit, owner: string, nowMs: number): number | null {
  const total = concurrencyLimit(limit, nowMs);
  if (total === null) return null;
  const holders = Object.entries(limit.holders);
  const fair = fairSlots(holders, total, nowMs).get(owner) ?? 0;
  const taken = holders
    .filter(([name]) => name !== owner)
    .reduce((sum, [, { slots, inUse }]) => sum + Math.max(slots ?? 0, inUse), 0);
  return Math.max(0, Math.min(fair, total - taken));
}

/** Gives slots one by one to the group that has the fewest, and in it to the process that has the fewest. */
function fairSlots(
  holders: readonly (readonly [string, Holder])[],
  total: number,
  nowMs: number,
): ReadonlyMap<string, number> {
  const turn = Math.floor(nowMs / ROTATION_MS) % Math.max(1, holders.length);
  const inTurn = [...holders.slice(turn), ...holders.slice(0, turn)];
  const slots = new Map(inTurn.map(([owner]) => [owner, 0]));
  const ofGroup = new Map<string, number>();
  const get = (owner: string) => slots.get(owner) ?? 0;
  const isServed = ([owner, { inUse, waiting }]: readonly [string, Holder]) =>
    get(owner) >= inUse + waiting;
  for (let left = total; left > 0; left -= 1) {
    const unserved = inTurn.filter((each) => !isServed(each));
    // What nobody waits for is spread, so that whoever wants more has it at once.
    const candidates = unserved.length > 0 ? unserved : inTurn;
    const [first, ...others] = candidates;
    if (first === undefined) break;
    const [owner, { group }] = others.reduce((least, each) => {
      const [a, b] = [ofGroup.get(each[1].group) ?? 0, ofGroup.get(least[1].group) ?? 0];
      if (a !== b) return a < b ? each : least;
      return get(each[0]) < get(least[0]) ? each : least;
    }, first);
    slots.set(owner, get(owner) + 1);
    ofGroup.set(group, (ofGroup.get(group) ?? 0) + 1);
  }
  return slots;
}
