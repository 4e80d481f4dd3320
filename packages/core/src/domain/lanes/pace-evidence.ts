import { limits } from '../../limits.ts';
import type { LanePace } from './lane-pace.ts';
import type { LimitKind } from './limit-kind.ts';
import { isBelowFree } from './pace-rates.ts';
import { UNUSED_CHANCE_RATIO, type Weighed, weighRefusal } from './refusal-evidence.ts';

/**
 * The share of its calls that a free lane may refuse by chance, once its use is known. Less than on one machine: a worker of a
 * stage waits with its refused cell, so that a limit refuses a single one no more than 3 %.
 */
const FREE_CHANCE_RATIO = 0.012;
/** After so long without a refusal, ms, the calls of a free lane are no longer counted. */
const COUNTED_FOR_MS = 3_600_000;
/**
 * Calls are counted several at once: refusals are weighed after so many calls, as soon as there are so many refusals, or after
 * so long, ms.
 */
const LEAST_CALLS = 40;
const MOST_UNWEIGHED = 2;
const LONGEST_UNWEIGHED_MS = 5_000;
/** The use of a free lane is counted in windows of at least so long, ms, and so many calls: only some of them are counted. */
const WINDOW_MS = 30_000;
const WINDOW_CALLS = 400;
/** A window that has lasted so long, ms, says nothing: nobody may have called for most of it. */
const LONGEST_WINDOW_MS = 600_000;

/** Whether the calls of a lane are counted, also those that need no turn: it has refused some of late. */
export function isCounted({ evidence }: LanePace, nowMs: number): boolean {
  return nowMs - evidence.weighedAtMs < COUNTED_FOR_MS;
}

/**
 * Whether a lane has refused all calls for so long that it should be blocked. Refusals with a long time between them
 * do not count together: no call was made meanwhile.
 */
export function hasOnlyRefused({ refusedSinceMs }: LanePace, nowMs: number): boolean {
  return refusedSinceMs !== null && nowMs - refusedSinceMs >= limits.longestHoldMs;
}

/**
 * Weighs the refusals of a lane that no worker has weighed yet, each with its part of the calls.
 *
 * @param refusal.kinds - The limits that may have refused the calls.
 * @returns With the same pace if it is too soon.
 */
export function weighRefusals(
  pace: LanePace,
  refusal: {
    readonly nowMs: number;
    readonly sentAtMs: number;
    readonly kinds: readonly LimitKind[];
  },
): Weighed & { readonly pace: LanePace } {
  const { callCount, refusalCount, weighedCalls, weighedRefusals } = pace;
  const { nowMs, sentAtMs, kinds } = refusal;
  const counted = { weighedCalls: callCount, weighedRefusals: refusalCount };
  // Without a count, or where all calls are refused, a refusal is no chance.
  if (!isCounted(pace, nowMs) || hasOnlyRefused(pace, nowMs)) {
    const evidence = { ...pace.evidence, weighedAtMs: nowMs };
    return { pace: { ...pace, ...counted, evidence }, refusedRatio: 0, hasFallen: false };
  }
  const count = Math.max(1, refusalCount - weighedRefusals);
  const calls = Math.max(0, callCount - weighedCalls);
  const isSoon = nowMs - pace.evidence.weighedAtMs < LONGEST_UNWEIGHED_MS;
  if (calls < LEAST_CALLS && count < MOST_UNWEIGHED && isSoon)
    return { pace, refusedRatio: undefined, hasFallen: false };
  const beliefs = kinds
    .filter((kind) => isBelowFree(pace, kind, nowMs))
    .map((kind) => pace[kind])
    .filter((belief) => belief !== null);
  const isUseKnown = usedOfLate(pace, nowMs) !== null;
  const freeChanceRatio = isUseKnown ? FREE_CHANCE_RATIO : UNUSED_CHANCE_RATIO;
  const each = { nowMs, sentAtMs, beliefs, freeChanceRatio };
  let weighed: Weighed = { refusedRatio: undefined, hasFallen: false };
  let { evidence } = pace;
  for (let no = 0; no < count && weighed.refusedRatio === undefined; no += 1)
    ({ evidence, ...weighed } = weighRefusal(
      { ...evidence, calls: evidence.calls + calls / count },
      each,
    ));
  const window = nextWindow(pace, nowMs, beliefs.length === 0);
  return { pace: { ...pace, ...counted, ...window, evidence }, ...weighed };
}

/** The calls of a lane that is free, of late, a minute; null if that is not known. */
export function usedOfLate(pace: LanePace, nowMs: number): number | null {
  const { windowAtMs, windowCalls, callCount, usedPerMinute } = pace;
  if (isWindowTooLong(pace, nowMs)) return null;
  if (!isWindowOver(pace, nowMs)) return usedPerMinute;
  return ((callCount - windowCalls) * 60_000) / (nowMs - windowAtMs);
}

/** The window of a lane whose rate has changed. */
export function newWindow(
  { callCount }: LanePace,
  windowAtMs: number,
): Pick<LanePace, 'windowAtMs' | 'windowCalls' | 'usedPerMinute'> {
  return { windowAtMs, windowCalls: callCount, usedPerMinute: null };
}

/** The window after a weighing. While a lane is limited, its use says nothing of the time when it is free. */
function nextWindow(
  pace: LanePace,
  nowMs: number,
  isFree: boolean,
): Pick<LanePace, 'windowAtMs' | 'windowCalls' | 'usedPerMinute'> {
  if (!isFree) return newWindow(pace, nowMs);
  if (isWindowOver(pace, nowMs) || isWindowTooLong(pace, nowMs))
    return { ...newWindow(pace, nowMs), usedPerMinute: usedOfLate(pace, nowMs) };
  const { windowAtMs, windowCalls, usedPerMinute } = pace;
  return { windowAtMs, windowCalls, usedPerMinute };
}

function isWindowOver({ windowAtMs, windowCalls, callCount }: LanePace, nowMs: number): boolean {
  return nowMs - windowAtMs >= WINDOW_MS && callCount - windowCalls >= WINDOW_CALLS;
}

function isWindowTooLong({ windowAtMs }: LanePace, nowMs: number): boolean {
  return nowMs - windowAtMs >= LONGEST_WINDOW_MS;
}
