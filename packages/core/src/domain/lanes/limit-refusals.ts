import { effectiveRate, isLimiting } from './effective-rate.ts';
import { beliefAfterUse, firstBelief } from './first-belief.ts';
import { activeHolders, type LaneLimit, type LaneRate } from './lane-limit.ts';
import type { LaneReport, RefusedCall } from './lane-report.ts';
import { tokensPerCall, usedPerMinute } from './lane-use.ts';
import { type LimitKind, loweredKinds } from './limit-kind.ts';
import { beliefAfterRefusal, type RateBelief } from './rate-belief.ts';
import { UNUSED_CHANCE_RATIO, weighRefusal } from './refusal-evidence.ts';

/** The share of its calls that a free lane may refuse by chance, once it is known how fast it is called: then slowing it down costs little. */
const FREE_CHANCE_RATIO = 0.02;
/** A limit is not what refused a call if less than this share of it was in use. */
const IN_USE_RATIO = 0.85;
/** How long a process may not know that a rate has fallen, ms. */
const LAG_MS = 400;

/** Weighs the refusals of a process, each with its part of the calls: refusals come back sooner than answers. */
export function weighReport(
  limit: LaneLimit,
  { used, refusals }: LaneReport,
  nowMs: number,
): LaneLimit {
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
  const kinds = loweredKinds(named, suspectsOf(limit, nowMs));
  const beliefs = kinds.map((kind) => limit[kind].found).filter((each) => isLimiting(each, nowMs));
  const isKnown = beliefs.some((each) => sentAtMs < each.fellAtMs + lagMs(limit, each, nowMs));
  if (isKnown) return heldFor(limit, refusal, nowMs);
  const isUseKnown = kinds.every((kind) => limit[kind].usedBefore > 0);
  const freeChanceRatio = isUseKnown ? FREE_CHANCE_RATIO : UNUSED_CHANCE_RATIO;
  const weighedRefusal = { nowMs, sentAtMs, beliefs, freeChanceRatio };
  const { evidence, refusedRatio, hasFallen } = weighRefusal(limit.evidence, weighedRefusal);
  const weighed = { ...limit, evidence };
  if (refusedRatio === undefined) return weighed;
  const fallen = (kind: LimitKind): LaneRate =>
    kinds.includes(kind)
      ? {
          ...limit[kind],
          found: lower(weighed, kind, { ...refusal, refusedRatio, hasFallen }, nowMs),
        }
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

/** The limits that may have refused a call: those that are known and were in use. */
function suspectsOf(limit: LaneLimit, nowMs: number): readonly LimitKind[] {
  return (['requests', 'tokens'] as const).filter((kind) => {
    const rate = effectiveRate(limit, kind, nowMs);
    return rate !== null && usedPerMinute(limit, kind, nowMs) >= IN_USE_RATIO * rate.perMinute;
  });
}

function lower(
  limit: LaneLimit,
  kind: LimitKind,
  refusal: RefusedCall & { readonly refusedRatio: number; readonly hasFallen: boolean },
  nowMs: number,
): RateBelief | null {
  const { found } = limit[kind];
  const { retryAfterMs, sentAtMs, refusedRatio, hasFallen } = refusal;
  if (isLimiting(found, nowMs)) {
    return beliefAfterRefusal(found, {
      ...{ nowMs, retryAfterMs, sentAtMs, refusedRatio, hasFallen },
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
