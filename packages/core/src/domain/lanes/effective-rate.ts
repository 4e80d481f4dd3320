import { activeHolders, type LaneLimit } from './lane-limit.ts';
import type { LimitKind } from './limit-kind.ts';
import { type EffectiveRate, lowestRate } from './lowest-rate.ts';
import { believedPerMinute, type RateBelief } from './rate-belief.ts';

/** What refusals have shown says nothing after so long without one, ms. */
const FORGOTTEN_AFTER_MS = 3_600_000;
/** A vendor that states its limit does so with each answer: what it has not repeated for so long, ms, holds no more. */
const STATED_AGE_MS = 300_000;
/** How much of a limit that its vendor states is used: clocks and paths differ. */
const STATED_RATIO = 0.98;
/** A rate that has risen so high, in calls a minute, is no limit. */
const FREE_ABOVE_CALLS_PER_MINUTE = 600_000;

/** The rate in force: the lowest of what specs say, the vendor states, and refusals have shown. Null if none is known. */
export function effectiveRate(
  limit: LaneLimit,
  kind: LimitKind,
  nowMs: number,
): EffectiveRate | null {
  const { stated, found } = limit[kind];
  const isStated = stated !== null && nowMs - stated.atMs < STATED_AGE_MS;
  return lowestRate({
    spec: activeHolders(limit, nowMs).flatMap((holder) => holder[`${kind}PerMinute`] ?? []),
    stated: isStated ? stated.perMinute * STATED_RATIO : null,
    found: isLimiting(found, nowMs) ? believedPerMinute(found, nowMs) : null,
  });
}

/** Whether a belief still limits a lane. */
export function isLimiting(found: RateBelief | null, nowMs: number): found is RateBelief {
  if (found === null || nowMs - found.fellAtMs >= FORGOTTEN_AFTER_MS) return false;
  return believedPerMinute(found, nowMs) < FREE_ABOVE_CALLS_PER_MINUTE * found.perCall;
}
