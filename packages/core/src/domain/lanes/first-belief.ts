import { FALL_FACTOR, type RateBelief, type RateRefusal, TAKEN_FACTOR } from './rate-belief.ts';

/** Bounds of the first rate, in ms between two calls. */
const MIN_FIRST_INTERVAL_MS = 10;
const MAX_FIRST_INTERVAL_MS = 1_000;

/**
 * The belief after the first refusal of a lane: as fast as the vendor asks to call again, but at least once a second,
 * and rising fast until the next refusal.
 *
 * @param perCall - The share of an average call: 1 for requests.
 */
export function firstBelief(
  { nowMs, retryAfterMs }: RateRefusal,
  { perCall }: { readonly perCall: number },
): RateBelief {
  const intervalMs = Math.max(
    MIN_FIRST_INTERVAL_MS,
    Math.min(MAX_FIRST_INTERVAL_MS, retryAfterMs ?? MAX_FIRST_INTERVAL_MS),
  );
  const waitMs = retryAfterMs ?? 0;
  const perMinute = (perCall * 60_000) / intervalMs;
  return {
    perMinute,
    perCall,
    takenPerMinute: 0,
    fellAtMs: nowMs + waitMs,
    waitMs,
    phase: 'searching',
  };
}

/**
 * The belief after the first refusal of a lane whose rate is known: a little less than what it answered.
 *
 * @param first - The belief if it were not known.
 * @param used.perMinute - The rate of late.
 * @param used.refusedRatio - The share of the last calls that were refused, 0..1.
 */
export function beliefAfterUse(
  first: RateBelief,
  { perMinute, refusedRatio }: { readonly perMinute: number; readonly refusedRatio: number },
): RateBelief {
  const answered = perMinute * (1 - refusedRatio);
  return {
    ...first,
    perMinute: answered * FALL_FACTOR,
    takenPerMinute: answered * TAKEN_FACTOR,
    phase: 'found',
  };
}

/**
 * The belief after the first refusal of a lane whose vendor states its rate: that rate.
 *
 * @param first - The belief if it were not known.
 */
export function beliefAfterStatement(first: RateBelief, perMinute: number): RateBelief {
  return { ...first, perMinute, phase: 'approaching' };
}

/** The belief before the first refusal of a lane whose rate is known: as if it had been found long ago. */
export function beliefBeforeRefusal({
  perMinute,
  perCall,
}: Pick<RateBelief, 'perMinute' | 'perCall'>): RateBelief {
  return { perMinute, perCall, takenPerMinute: 0, fellAtMs: 0, waitMs: 0, phase: 'found' };
}
