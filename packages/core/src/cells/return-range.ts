import { limits } from '../limits.ts';
import type { ReturnRange } from '../ports/lane-paces.ts';

/** The longest that a queue delays a message, ms: a cell that is sent back returns after it at the latest. */
const LONGEST_RETURN_MS = 900_000;

/**
 * When a cell that is sent back may return: at the pace of its lane, somewhat before its turn would be, so that some always
 * wait for a lane that gets faster.
 *
 * @param waitMs - Until its turn.
 * @param intervalMs - Between two turns.
 */
export function returnRange(nowMs: number, waitMs: number, intervalMs: number): ReturnRange {
  const aheadMs = limits.laneWaitMs / 2;
  const earliestMs = nowMs + Math.max(Math.min(waitMs, aheadMs), waitMs - aheadMs);
  return { earliestMs, latestMs: Math.max(earliestMs, nowMs + LONGEST_RETURN_MS), intervalMs };
}
