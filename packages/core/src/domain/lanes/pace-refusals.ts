import { limits } from '../../limits.ts';
import { perMinuteAt } from './allowed-calls.ts';
import {
  beliefAfterStatement,
  beliefAfterUse,
  beliefBeforeRefusal,
  firstBelief,
} from './first-belief.ts';
import { type Change, type LanePace, PACE_AGE_MS, type RateLimits } from './lane-pace.ts';
import { type LimitKind, loweredKinds } from './limit-kind.ts';
import { hasOnlyRefused, newWindow, usedOfLate, weighRefusals } from './pace-evidence.ts';
import { isLimited, paceRate, risingRate, scaled } from './pace-rates.ts';
import { rebased, usedRatio, withoutLateTurns, withTurnBefore } from './pace-turns.ts';
import { beliefAfterRefusal, type RateBelief } from './rate-belief.ts';

/** After so long without a refusal, the earlier ones say nothing: longer than a blocked lane waits for its next call. */
const FORGOTTEN_AFTER_MS = 2 * limits.quotaBackoffCapMs;
/** A refusal without a time holds the lane for so many turns, but no longer than a second. */
const HELD_TURNS = 3;
/** A lane that only refuses is held for so much of the time for which it has done so. */
const REFUSING_HOLD_RATIO = 0.2;

/** A refused call. */
export interface RefusedCall {
  readonly group: string;
  /** Whether it keeps its turn, which will be the first. */
  readonly keepsTurn: boolean;
  readonly sentAtMs: number;
  /** How long the vendor asks to wait; undefined where it does not say. */
  readonly retryAfterMs: number | undefined;
  /** The limit that the vendor names; null if it names none. */
  readonly named: LimitKind | null;
  readonly tokens: number;
}

/** A refusal that shows a limit. */
interface ShownLimit {
  /** The share of the last calls that were refused, 0..1. */
  readonly refusedRatio: number;
  /** Whether the limit has fallen below a rate that the lane took. */
  readonly hasFallen: boolean;
}

/** Whether the refusal of a call says that a pace is too fast: calls that were in flight together are refused together. */
export function isNewRefusal(pace: LanePace, sentAtMs: number): boolean {
  return sentAtMs >= pace.refusedAtMs + PACE_AGE_MS;
}

/**
 * The pace after a refusal: if that shows a limit, slower, and held until the vendor takes calls again. Otherwise it is
 * chance, and only the refused cell waits.
 *
 * @returns The same pace if nothing is to be written.
 */
export function afterRefusal(
  pace: LanePace,
  call: RefusedCall,
  change: Change,
): { readonly pace: LanePace; readonly isSlower: boolean } {
  const { nowMs, token } = change;
  const kinds = loweredKindsOf(pace, call, nowMs);
  const { pace: weighed, ...shown } = weighRefusals(pace, { ...call, nowMs, kinds });
  const { refusedRatio } = shown;
  if (refusedRatio !== undefined)
    return { pace: slowed(weighed, call, { ...shown, refusedRatio }, change), isSlower: true };
  return { pace: weighed === pace ? pace : { ...weighed, token }, isSlower: false };
}

function slowed(
  pace: LanePace,
  call: RefusedCall,
  shown: ShownLimit,
  { nowMs, token }: Change,
): LanePace {
  const isFirst = pace.refusedSinceMs === null || nowMs - pace.refusedAtMs >= FORGOTTEN_AFTER_MS;
  const refusedSinceMs = isFirst ? nowMs : (pace.refusedSinceMs ?? nowMs);
  const noted = { ...pace, refusedAtMs: nowMs, refusedSinceMs, token };
  const kinds = loweredKindsOf(pace, call, nowMs);
  // The spec may limit the tokens alone.
  const isKnown = kinds.every((kind) => paceRate(pace, kind, nowMs) !== null);
  if (!isKnown || !isLimited(pace, nowMs))
    return afterFirstRefusal(pace, noted, call, shown, nowMs);
  const slow = (kind: LimitKind) =>
    kinds.includes(kind) ? slowedBelief(pace, kind, { ...call, ...shown }, nowMs) : pace[kind];
  const slower = {
    ...noted,
    ...newWindow(pace, nowMs),
    requests: slow('requests'),
    tokens: slow('tokens'),
  };
  const turnsMs = HELD_TURNS * turnMs(slower, call, nowMs);
  const refusingMs = REFUSING_HOLD_RATIO * (nowMs - refusedSinceMs);
  const guessedMs = Math.max(refusingMs, Math.min(1_000, turnsMs));
  const heldUntilMs = nowMs + (call.retryAfterMs ?? guessedMs);
  const moved = rebased(pace, slower, nowMs, heldUntilMs);
  const held = { ...(call.keepsTurn ? withTurnBefore(moved, call.group) : moved), heldUntilMs };
  return isFirst ? held : withoutLateTurns(held, nowMs);
}

/** The time that a call like this one takes of the lane's rates, ms. */
function turnMs(pace: LanePace, { tokens }: RefusedCall, nowMs: number): number {
  const perMinute = (kind: LimitKind) => perMinuteAt(risingRate(pace, kind), nowMs);
  return 60_000 * Math.max(1 / perMinute('requests'), tokens / perMinute('tokens'));
}

/** Those who do not know yet that the lane is limited call on: it is held for at least as long. */
function afterFirstRefusal(
  before: LanePace,
  noted: LanePace,
  { retryAfterMs }: RefusedCall,
  { refusedRatio }: ShownLimit,
  nowMs: number,
): LanePace {
  const heldUntilMs = nowMs + Math.max(PACE_AGE_MS, retryAfterMs ?? 0);
  const first = { ...firstBelief({ nowMs, retryAfterMs }, { perCall: 1 }), fellAtMs: heldUntilMs };
  const stated = scaled(before.stated.requestsPerMinute);
  const perMinute = usedOfLate(before, nowMs);
  const used = perMinute === null ? first : beliefAfterUse(first, { perMinute, refusedRatio });
  const requests = stated === null ? used : beliefAfterStatement(first, stated);
  const slower = { ...noted, ...newWindow(before, nowMs), requests };
  return { ...rebased(before, slower, nowMs, heldUntilMs), heldUntilMs };
}

function loweredKindsOf(
  pace: LanePace,
  { named }: RefusedCall,
  nowMs: number,
): readonly LimitKind[] {
  return loweredKinds(paceRate(pace, 'tokens', nowMs) === null ? null : named, []);
}

function slowedBelief(
  pace: LanePace,
  kind: LimitKind,
  { sentAtMs, retryAfterMs, tokens, refusedRatio, hasFallen }: RefusedCall & ShownLimit,
  nowMs: number,
): RateBelief {
  const perMinute = perMinuteAt(risingRate(pace, kind), nowMs);
  const perCall = kind === 'requests' ? 1 : Math.max(1, tokens);
  const ratio = kind === 'requests' ? (usedRatio(pace, nowMs) ?? 1) : 1;
  const belief = pace[kind] ?? beliefBeforeRefusal({ perMinute, perCall });
  return beliefAfterRefusal(belief, {
    nowMs,
    retryAfterMs,
    sentAtMs,
    // Counted from the last refusal, as `isNewRefusal` does.
    lagMs: pace.refusedAtMs + PACE_AGE_MS - belief.fellAtMs,
    // A rate rises beyond its cap, which nobody uses.
    usedPerMinute: perMinute * ratio,
    refusedRatio,
    hasFallen,
  });
}

/** The pace after an answer that follows refusals: the lane works. */
export function afterAnswer(pace: LanePace, { nowMs, token }: Change): LanePace {
  const isBlocked = hasOnlyRefused(pace, nowMs);
  const rising = (belief: RateBelief | null) =>
    // What was found before the lane only refused calls says nothing about its limit now.
    belief && {
      ...belief,
      fellAtMs: Math.max(nowMs, belief.fellAtMs),
      phase: isBlocked ? 'searching' : belief.phase,
    };
  const beliefs = { requests: rising(pace.requests), tokens: rising(pace.tokens) };
  const answered = { ...pace, ...beliefs, refusedSinceMs: null, answeredAtMs: nowMs, token };
  return rebased(pace, answered, nowMs, nowMs);
}

/** The pace of a lane whose vendor states its limits. */
export function afterStatement(
  pace: LanePace,
  stated: RateLimits,
  { nowMs, token }: Change,
): LanePace {
  return rebased(pace, { ...pace, stated, token }, nowMs, nowMs);
}
