import { perMinuteAt, type RisingRate } from './allowed-calls.ts';
import type { LimitSource } from './effective-rate.ts';
import { groupsOf, type LanePace, type RateLimits } from './lane-pace.ts';
import type { RateBelief } from './rate-belief.ts';

/** From here on, requests a minute, the pace is not what limits a lane. */
const FREE_FROM_PER_MINUTE = 60_000;
/** A lane whose vendor states its limit is called a little more slowly: the clocks of both sides differ. */
const STATED_RATIO = 0.97;

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

/** What was stated counts once a call was refused: an answer of another lane costs no turn. */
export function requestRate(pace: LanePace): RisingRate {
  const { requests, stated } = pace;
  const found = requests === null ? [] : [scaled(stated.requestsPerMinute), FREE_FROM_PER_MINUTE];
  const own = groupsOf(pace).map((each) => each.limits.requestsPerMinute);
  return risingSince(pace, requests, lowestOf([...own, ...found]));
}

/** The same of tokens. */
export function tokenRate(pace: LanePace): RisingRate {
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

/** How much of a rate that a vendor states is used; null where it states none. */
export function scaled(perMinute: number | null): number | null {
  return perMinute === null ? null : perMinute * STATED_RATIO;
}

function lowestOf(bounds: readonly (number | null)[]): number {
  return Math.min(...bounds.filter((each) => each !== null));
}
