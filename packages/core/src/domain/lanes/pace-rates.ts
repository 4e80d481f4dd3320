import { perMinuteAt, type RisingRate } from './allowed-calls.ts';
import { groupsOf, type LanePace } from './lane-pace.ts';
import type { LimitKind } from './limit-kind.ts';
import { type EffectiveRate, lowestRate } from './lowest-rate.ts';
import { believedPerMinute } from './rate-belief.ts';

/** From here on, requests a minute, the pace is not what limits a lane. */
const FREE_FROM_PER_MINUTE = 60_000;
/** A lane whose vendor states its limit is called a little more slowly: the clocks of both sides differ. */
const STATED_RATIO = 0.97;

/** Whether calls of a lane need turns: a spec or a refusal limits it. */
export function isLimited(pace: LanePace | undefined, nowMs: number): pace is LanePace {
  if (pace === undefined) return false;
  if (pace.heldUntilMs > nowMs || pace.refusedSinceMs !== null) return true;
  if (Number.isFinite(risingRate(pace, 'tokens').capPerMinute)) return true;
  const isBound = groupsOf(pace).some((each) => each.limits.requestsPerMinute !== null);
  return isBound || perMinuteAt(risingRate(pace, 'requests'), nowMs) < FREE_FROM_PER_MINUTE;
}

/** Whether what refusals have shown of a limit still limits the lane. */
export function isBelowFree(pace: LanePace, kind: LimitKind, nowMs: number): boolean {
  const belief = pace[kind];
  return (
    belief !== null && believedPerMinute(belief, nowMs) < FREE_FROM_PER_MINUTE * belief.perCall
  );
}

/** The rate in force at a time; null where nothing limits a lane. */
export function paceRate(pace: LanePace, kind: LimitKind, nowMs: number): EffectiveRate | null {
  const { spec, stated, found } = knownRates(pace, kind);
  const foundPerMinute = perMinuteAt(found, nowMs);
  return lowestRate({
    spec,
    stated,
    found: Number.isFinite(foundPerMinute) ? foundPerMinute : null,
  });
}

/** The rate in force as it rises until the next refusal. */
export function risingRate(pace: LanePace, kind: LimitKind): RisingRate {
  const { spec, stated, found } = knownRates(pace, kind);
  const capPerMinute = Math.min(found.capPerMinute, stated ?? Number.POSITIVE_INFINITY, ...spec);
  return { ...found, capPerMinute };
}

/** What was stated counts once a call was refused: an answer of another lane costs no turn. */
function knownRates(
  pace: LanePace,
  kind: LimitKind,
): {
  readonly spec: readonly number[];
  readonly stated: number | null;
  readonly found: RisingRate;
} {
  const { requests, tokens } = pace;
  const field = `${kind}PerMinute` as const;
  const hasRefused = requests !== null || (kind === 'tokens' && tokens !== null);
  return {
    spec: groupsOf(pace).flatMap(({ limits }) => limits[field] ?? []),
    stated: hasRefused ? scaled(pace.stated[field]) : null,
    found: foundRate(pace, kind),
  };
}

/** What refusals have shown. It rises only while the lane answers. */
function foundRate(pace: LanePace, kind: LimitKind): RisingRate {
  const belief = pace[kind];
  const isFreeAbove = kind === 'requests' && belief !== null;
  const capPerMinute = isFreeAbove ? FREE_FROM_PER_MINUTE : Number.POSITIVE_INFINITY;
  if (belief === null || pace.refusedSinceMs === null) return { belief, capPerMinute };
  return { belief: null, capPerMinute: Math.min(capPerMinute, belief.perMinute) };
}

/** How much of a rate that a vendor states is used; null where it states none. */
export function scaled(perMinute: number | null): number | null {
  return perMinute === null ? null : perMinute * STATED_RATIO;
}
