import * as z from 'zod';

/** How much a rate falls with a refusal: once it is found, if that was not enough, and while it is searched. */
export const FALL_FACTOR = 0.93;
const STEEP_FALL_FACTOR = 0.85;
const SEARCH_FALL_FACTOR = 0.7;
/** How much of what it has answered a lane certainly takes: counts are not exact, least so until the limit is found. */
export const TAKEN_FACTOR = 0.96;
/** A rate that has risen by more than this since its fall may be far above the limit. */
const FAR_ABOVE_FACTOR = 1.5;
/** By how much a rate rises in the first cycle after a fall, by addition; each further cycle adds four times as much in all. */
const RISE_RATIO = 0.07;
/** A cycle takes at least so long, ms, and so many calls: one of them, and the few in flight with it, may be refused. */
const MIN_CYCLE_MS = 30_000;
const CALLS_PER_CYCLE = 250;
/** A cycle takes so many times as long as the vendor last asked to wait: a hold costs little of the time between two. */
const HOLDS_PER_CYCLE = 40;
/** After a fall that may have been too deep, the first cycles are shorter by this factor: as many as make up for it. */
const APPROACH_FACTOR = 6;
const APPROACH_RISES = 4;
/** The longest cycle, ms. */
const MAX_CYCLE_MS = 300_000;
/** While a rate is searched, it doubles in this time, ms, or in the time of so many calls. */
const MIN_DOUBLING_MS = 1_000;
const CALLS_PER_DOUBLING = 2;
/** A refusal so soon after a fall, ms, or within so many calls, says that the rate is still far too high. */
const STEEP_WITHIN_MS = 2_000;
const STEEP_WITHIN_CALLS = 10;
/** Bounds of a rate, calls a minute or that of their tokens. */
const MIN_CALLS_PER_MINUTE = 1;
const MAX_RISE_FACTOR = 1e6;

/**
 * What refusals have shown of a rate limit whose vendor does not say it, in requests or tokens.
 *
 * A refusal lowers the rate by a factor. From then on it rises by itself, as a function of the time alone, so that nothing
 * is written before the next refusal: slowly at first, to find the limit again from below, then faster and faster,
 * because a limit that is not met for so long has been raised.
 */
export const rateBeliefSchema = z.strictObject({
  /** The rate when it last fell, in requests or tokens a minute. */
  perMinute: z.number().positive(),
  /** The share of one call in it: 1 for requests, the tokens of an average call for tokens. */
  perCall: z.number().positive(),
  /** What the lane certainly takes, because it has answered that much, in requests or tokens a minute; 0 if that is unknown. */
  takenPerMinute: z.number().min(0),
  /** When it last fell, or when the hold after that ends, ms since 1970. */
  fellAtMs: z.number(),
  /** How long the vendor last asked to wait, ms; 0 if it did not. */
  waitMs: z.number().min(0),
  /**
   * `searching`: it doubles until the next refusal. `approaching`: it has fallen deep and rises fast to the limit. `found`:
   * it has met the limit from below.
   */
  phase: z.enum(['searching', 'approaching', 'found']),
});
/** What refusals have shown of a rate limit; see {@link rateBeliefSchema}. */
export type RateBelief = z.infer<typeof rateBeliefSchema>;

/** A refusal because of a rate limit. */
export interface RateRefusal {
  /** Since 1970. */
  readonly nowMs: number;
  /** How long the vendor asks to wait; undefined where it does not say. */
  readonly retryAfterMs: number | undefined;
}

/** The rate that is believed at a time, in requests or tokens a minute. */
export function believedPerMinute(belief: RateBelief, nowMs: number): number {
  const { perMinute, fellAtMs, phase } = belief;
  // The clock may have been set back meanwhile.
  const elapsedMs = Math.max(0, nowMs - fellAtMs);
  const factor =
    phase === 'searching'
      ? 2 ** (elapsedMs / doublingMs(belief))
      : 1 + RISE_RATIO * risesAfter(belief, elapsedMs);
  return Math.min(highestPerMinute(belief), perMinute * factor);
}

/** The rate beyond which a belief never rises, in requests or tokens a minute. */
export function highestPerMinute({ perMinute }: RateBelief): number {
  return perMinute * MAX_RISE_FACTOR;
}

/**
 * When a belief reaches a rate, ms since 1970.
 *
 * @returns -Infinity if it has it from its fall on.
 */
export function reachesAtMs(belief: RateBelief, perMinute: number): number {
  const { fellAtMs, phase } = belief;
  const factor = perMinute / belief.perMinute;
  if (factor <= 1) return Number.NEGATIVE_INFINITY;
  if (phase === 'searching') return fellAtMs + doublingMs(belief) * Math.log2(factor);
  const { shortMs, wholeMs, rises } = cyclesOf(belief);
  const rise = (factor - 1) / RISE_RATIO;
  if (rise <= rises) return fellAtMs + rise * shortMs;
  const rest = rise - rises;
  return fellAtMs + rises * shortMs + wholeMs * (rest <= 1 ? rest : 1 + Math.log2(rest) / 2);
}

/**
 * What a belief allows from its fall to a time, in requests or tokens; less than 0 for a time before it.
 *
 * @param toMs - Not after it has reached {@link highestPerMinute}.
 */
export function sinceFall(belief: RateBelief, toMs: number): number {
  const perMs = belief.perMinute / 60_000;
  const elapsedMs = toMs - belief.fellAtMs;
  // Until a hold ends, the rate is the one after it.
  if (elapsedMs <= 0) return perMs * elapsedMs;
  if (belief.phase === 'searching') {
    const periodMs = doublingMs(belief);
    return (perMs * periodMs * (2 ** (elapsedMs / periodMs) - 1)) / Math.LN2;
  }
  const { shortMs, wholeMs, rises } = cyclesOf(belief);
  const approachMs = Math.min(elapsedMs, rises * shortMs);
  const restMs = elapsedMs - approachMs;
  const cycles = restMs / wholeMs;
  const risen = cycles <= 1 ? cycles ** 2 / 2 : 0.5 + (4 ** (cycles - 1) - 1) / Math.log(4);
  const approached = rises === 0 ? 0 : approachMs ** 2 / (2 * shortMs) + rises * restMs;
  return perMs * (elapsedMs + RISE_RATIO * (approached + risen * wholeMs));
}

/**
 * The belief after a refusal.
 *
 * @param refusal.sentAtMs - When the refused call was sent, ms since 1970.
 * @param refusal.lagMs - How long it takes until every worker knows that the rate has fallen.
 * @param refusal.usedPerMinute - The rate that was used of late, where it is known: a rate that nobody used to the
 *   full has risen without meaning.
 * @param refusal.refusedRatio - The share of the last calls that were refused, 0..1.
 * @returns The same belief if the call was sent before its sender could know the last fall: calls that were in flight
 *   together are refused together.
 */
export function beliefAfterRefusal(
  belief: RateBelief,
  refusal: RateRefusal & {
    readonly sentAtMs: number;
    readonly lagMs: number;
    readonly usedPerMinute?: number | undefined;
    readonly refusedRatio: number;
    readonly hasFallen: boolean;
  },
): RateBelief {
  const { nowMs, retryAfterMs, sentAtMs, lagMs, usedPerMinute, refusedRatio, hasFallen } = refusal;
  const { perCall, fellAtMs, phase } = belief;
  if (sentAtMs < fellAtMs + lagMs) return belief;
  const believed = believedPerMinute(belief, sentAtMs);
  const used = Math.min(believed, usedPerMinute ?? believed);
  const steepMs = Math.max(STEEP_WITHIN_MS, (STEEP_WITHIN_CALLS * 60_000 * perCall) / believed);
  const isSteep =
    hasFallen ||
    used > FAR_ABOVE_FACTOR * belief.perMinute ||
    sentAtMs - fellAtMs - lagMs < steepMs;
  const foundFactor = isSteep ? STEEP_FALL_FACTOR : FALL_FACTOR;
  const factor = phase === 'searching' ? SEARCH_FALL_FACTOR : foundFactor;
  const answered = used * (1 - refusedRatio);
  const isMetAgain = phase === 'found' && factor === FALL_FACTOR;
  const perMinute = Math.min(used * factor, answered * FALL_FACTOR);
  const waitMs = retryAfterMs ?? 0;
  return {
    perMinute: Math.max(MIN_CALLS_PER_MINUTE * perCall, perMinute),
    perCall,
    takenPerMinute: isMetAgain ? answered * TAKEN_FACTOR : 0,
    fellAtMs: nowMs + waitMs,
    waitMs,
    phase: factor === FALL_FACTOR ? 'found' : 'approaching',
  };
}

/** How often a rate has risen by {@link RISE_RATIO} since its fall. */
function risesAfter(belief: RateBelief, elapsedMs: number): number {
  const { shortMs, wholeMs, rises } = cyclesOf(belief);
  if (elapsedMs < rises * shortMs) return elapsedMs / shortMs;
  const cycles = (elapsedMs - rises * shortMs) / wholeMs;
  return rises + (cycles <= 1 ? cycles : 4 ** (cycles - 1));
}

/** The cycles of a rate, and how many of them are short after a fall that may have been too deep. */
function cyclesOf(belief: RateBelief): {
  readonly shortMs: number;
  readonly wholeMs: number;
  readonly rises: number;
} {
  const wholeMs = cycleMs(belief);
  const rises = belief.phase === 'approaching' ? APPROACH_RISES : 0;
  return { shortMs: wholeMs / APPROACH_FACTOR, wholeMs, rises };
}

function cycleMs({ perMinute, perCall, waitMs }: RateBelief): number {
  const callsMs = (CALLS_PER_CYCLE * 60_000 * perCall) / perMinute;
  return Math.min(MAX_CYCLE_MS, Math.max(MIN_CYCLE_MS, callsMs, HOLDS_PER_CYCLE * waitMs));
}

function doublingMs({ perMinute, perCall }: RateBelief): number {
  return Math.max(MIN_DOUBLING_MS, (CALLS_PER_DOUBLING * 60_000 * perCall) / perMinute);
}
