import {
  believedPerMinute,
  highestPerMinute,
  type RateBelief,
  reachesAtMs,
  sinceFall,
} from './rate-belief.ts';

/** How exactly a time is found, ms. */
const PRECISION_MS = 0.5;

/** A rate that never falls: what is believed, but never more than a cap, both in requests or tokens a minute. */
export interface RisingRate {
  readonly belief: RateBelief | null;
  /** Infinity if there is none. */
  readonly capPerMinute: number;
}

/** The rate at a time, a minute. */
export function perMinuteAt({ belief, capPerMinute }: RisingRate, nowMs: number): number {
  return belief === null ? capPerMinute : Math.min(capPerMinute, believedPerMinute(belief, nowMs));
}

/** How much a rate allows between two times, ms since 1970. */
export function allowedBetween(rate: RisingRate, fromMs: number, toMs: number): number {
  const { belief } = rate;
  if (toMs <= fromMs) return 0;
  if (belief === null) return (rate.capPerMinute * (toMs - fromMs)) / 60_000;
  const capPerMinute = Math.min(rate.capPerMinute, highestPerMinute(belief));
  const cappedAtMs = reachesAtMs(belief, capPerMinute);
  // Long after that, the belief alone is beyond all numbers.
  if (cappedAtMs <= fromMs) return (capPerMinute * (toMs - fromMs)) / 60_000;
  const risesUntilMs = Math.min(toMs, cappedAtMs);
  const rising = sinceFall(belief, risesUntilMs) - sinceFall(belief, fromMs);
  return toMs === risesUntilMs ? rising : rising + (capPerMinute * (toMs - risesUntilMs)) / 60_000;
}

/** When a rate has allowed so much since a time, ms since 1970. */
export function allowedAtMs(rate: RisingRate, fromMs: number, count: number): number {
  const startPerMs = perMinuteAt(rate, fromMs) / 60_000;
  if (count <= 0 || startPerMs === Number.POSITIVE_INFINITY) return fromMs;
  // The rate never falls, so it takes no longer than at its start.
  let [earliestMs, latestMs] = [fromMs, fromMs + count / startPerMs];
  if (rate.belief === null) return latestMs;
  while (latestMs - earliestMs > PRECISION_MS) {
    const middleMs = (earliestMs + latestMs) / 2;
    if (allowedBetween(rate, fromMs, middleMs) < count) earliestMs = middleMs;
    else latestMs = middleMs;
  }
  return latestMs;
}
