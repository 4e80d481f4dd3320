import { activeHolders, type LaneLimit } from './lane-limit.ts';
import { believedPerMinute, type RateBelief } from './rate-belief.ts';

/** What refusals have shown says nothing after so long without one, ms. */
const FORGOTTEN_AFTER_MS = 3_600_000;
/** A vendor that states its limit does so with each answer: what it has not repeated for so long, ms, holds no more. */
const STATED_AGE_MS = 300_000;
/** How much of a limit that its vendor states is used: clocks and paths differ. */
const STATED_RATIO = 0.98;
/** A rate that has risen so high, in calls a minute, is no limit. */
const FREE_ABOVE_CALLS_PER_MINUTE = 600_000;

/** Where a limit is known from: the spec, the vendor's headers, or refusals. */
export type LimitSource = 'spec' | 'header' | 'found';

/** The limit in force, a minute. */
export interface EffectiveRate {
  readonly perMinute: number;
  readonly source: LimitSource;
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

/** Whether a belief still limits a lane. */
export function isLimiting(found: RateBelief | null, nowMs: number): found is RateBelief {
  if (found === null || nowMs - found.fellAtMs >= FORGOTTEN_AFTER_MS) return false;
  return believedPerMinute(found, nowMs) < FREE_ABOVE_CALLS_PER_MINUTE * found.perCall;
}
