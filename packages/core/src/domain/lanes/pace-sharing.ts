import { allowedBetween } from './allowed-calls.ts';
import { type Change, groupsOf, type LanePace, placeOf, type RateLimits } from './lane-pace.ts';
import { risingRate } from './pace-rates.ts';
import { dueAtMs, rebased, USE_KNOWN_AFTER_MS } from './pace-turns.ts';
import { allocateShares } from './share-rate.ts';

/** How often the rate of a lane is shared out anew among its groups, ms; less often if that allows but a few requests. */
const SHARED_AFTER_MS = 10_000;
const SHARED_AFTER_REQUESTS = 40;
/** A group that uses less of its share needs no more. */
const CONTENT_RATIO = 0.95;

/** The pace of a lane that one more group calls, or with other limits in its spec. */
export function afterJoining(
  pace: LanePace,
  {
    group,
    limits: own,
    nowMs,
    token,
  }: Change & { readonly group: string; readonly limits: RateLimits },
): LanePace {
  const baseAtMs = Math.max(nowMs, pace.heldUntilMs);
  const none = { sharedTurn: 0, sharedTokens: 0, lastTurn: 0, lastTokens: 0 };
  const first = { group, baseAtMs, baseTurn: 1, baseTokens: 0, ...none };
  const known = placeOf(pace, group) ?? pace.groups.indexOf(null);
  const place = known === -1 ? pace.groups.length : known;
  const turns = pace.groups[place] ?? { ...first, shareRatio: 1 };
  const groups = pace.groups.toSpliced(place, 1, { ...turns, limits: own });
  return afterSharing({ ...pace, groups }, { nowMs, token }, group);
}

/** Whether the rate of a lane should be shared out anew: what its groups need may have changed. */
export function isSharedLongAgo(pace: LanePace, nowMs: number): boolean {
  if (groupsOf(pace).length < 2 || nowMs - pace.sharedAtMs < SHARED_AFTER_MS) return false;
  return (
    allowedBetween(risingRate(pace, 'requests'), pace.sharedAtMs, nowMs) >= SHARED_AFTER_REQUESTS
  );
}

/**
 * The pace of a lane whose rate is shared out anew among its groups: equally, but none gets more than it needs. Groups that
 * do not call any more lose their place.
 *
 * @param joining - A group whose needs are not known yet.
 */
export function afterSharing(pace: LanePace, { nowMs, token }: Change, joining?: string): LanePace {
  const needs = pace.groups.map((turns, place) =>
    turns?.group === joining ? Number.POSITIVE_INFINITY : neededRatio(pace, place, nowMs),
  );
  const shares = [...allocateShares(needs.filter((need) => need > 0))];
  const moved = rebased(pace, { ...pace, sharedAtMs: nowMs, token }, nowMs, nowMs);
  const groups = moved.groups.map((turns, place) =>
    turns === null || needs[place] === 0
      ? null
      : {
          ...turns,
          shareRatio: shares.shift() ?? 1,
          sharedTurn: turns.lastTurn,
          sharedTokens: turns.lastTokens,
        },
  );
  return { ...moved, groups };
}

/** The share of a lane's rate that a group needs: more than all if it uses all of its own, 0 if it has stopped to call. */
function neededRatio(pace: LanePace, place: number, nowMs: number): number {
  const turns = pace.groups[place];
  if (!turns) return 0;
  const { sharedTurn, sharedTokens, lastTurn, lastTokens, shareRatio } = turns;
  const { sharedAtMs } = pace;
  if (nowMs - sharedAtMs < USE_KNOWN_AFTER_MS) return shareRatio;
  const ratio = Math.max(
    Math.max(0, lastTurn - sharedTurn) /
      allowedBetween(risingRate(pace, 'requests'), sharedAtMs, nowMs),
    Math.max(0, lastTokens - sharedTokens) /
      allowedBetween(risingRate(pace, 'tokens'), sharedAtMs, nowMs),
  );
  const last = { turn: lastTurn, tokensBefore: lastTokens };
  // Its callers may wait so long that none has taken a turn of late.
  const isWaiting = ratio === 0 && dueAtMs(pace, place, last) > nowMs;
  return ratio < CONTENT_RATIO * shareRatio && !isWaiting ? ratio : Number.POSITIVE_INFINITY;
}
