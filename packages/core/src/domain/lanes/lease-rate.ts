import { effectiveRate } from './effective-rate.ts';
import { activeHolders, type LaneLimit, type LaneRate } from './lane-limit.ts';
import type { Block, LaneReport } from './lane-report.ts';
import type { LimitKind } from './limit-kind.ts';

/** The time that a block of the lane's rate covers for one process, ms. */
export const BLOCK_MS = 500;
/** A lane that is leased for so long ahead, ms, is leased no further to a group that had more than another. */
const LEASED_AHEAD_MS = 150;
/** The longest lateness that is made up for, ms. */
const MAX_LATE_MS = 250;
/** How much of the tolerated lateness a block may begin back: what nobody used while every process was late is not lost. */
const LATE_RATIO = 0.8;

/** Leases as much of a rate as a process wants, unless its group is ahead of another that waits. */
export function leaseRate(
  limit: LaneLimit,
  kind: LimitKind,
  report: LaneReport,
  nowMs: number,
): { readonly block: Block | null; readonly rate: LaneRate } {
  const rate = limit[kind];
  const perMinute = effectiveRate(limit, kind, nowMs)?.perMinute;
  if (perMinute === undefined) return { block: null, rate: { ...rate, served: {} } };
  const msPerUnit = 60_000 / perMinute;
  const unit = kind === 'requests' ? 1 : Math.max(1, report.wants.first);
  const unitMs = unit * msPerUnit;
  const most = Math.max(unit, BLOCK_MS / msPerUnit);
  const wanted = Math.min(report.wants[kind], kind === 'requests' ? Math.floor(most) : most);
  const lateMs = LATE_RATIO * lateToleranceMs(unitMs);
  const fromMs = Math.max(nowMs - lateMs, rate.nextAtMs, limit.heldUntilMs);
  const served = servedOf(limit, kind, report.group, nowMs);
  const isAhead = (served[report.group] ?? 0) > Math.max(BLOCK_MS, unitMs);
  // As long as the lane is leased ahead, it does not stand still while the others catch up.
  const canRefuse = fromMs - nowMs > LEASED_AHEAD_MS;
  const amount = wanted <= 0 || (isAhead && canRefuse) ? 0 : wanted;
  const untilMs = fromMs + amount * msPerUnit;
  const ownMs = (served[report.group] ?? 0) + untilMs - fromMs;
  return {
    block: { fromMs, untilMs, msPerUnit, most },
    rate: {
      ...rate,
      nextAtMs: amount === 0 ? rate.nextAtMs : untilMs,
      served: { ...served, [report.group]: ownMs },
    },
  };
}

/**
 * The time that each group was leased more than the one that was leased least, of the groups whose callers wait. One
 * that has not waited before begins as the one that was leased least: it saves nothing up.
 */
function servedOf(
  limit: LaneLimit,
  kind: LimitKind,
  own: string,
  nowMs: number,
): Readonly<Record<string, number>> {
  const { served } = limit[kind];
  const waiting = activeHolders(limit, nowMs).flatMap(({ group, waiting: count }) =>
    count > 0 || group === own ? [group] : [],
  );
  const known = waiting.flatMap((group) => served[group] ?? []);
  const leastMs = known.length === 0 ? 0 : Math.min(...known);
  return Object.fromEntries(waiting.map((group) => [group, (served[group] ?? leastMs) - leastMs]));
}

/**
 * How late a call may be sent without those after it being later: what it may take of a bucket that holds the calls of a
 * second, and at least one.
 *
 * @param unitMs - The time of one call at the lane's rate.
 */
export function lateToleranceMs(unitMs: number): number {
  return Math.max(0, Math.min(MAX_LATE_MS, (1_000 - unitMs) / 4));
}
