import { limits } from '../../limits.ts';
import { allowedAtMs, allowedBetween, perMinuteAt } from './allowed-calls.ts';
import { type Change, type GroupTurns, groupsOf, type LanePace } from './lane-pace.ts';
import { paceRate, risingRate } from './pace-rates.ts';

/** How many turns may be made up for if nobody took them in time. */
const MISSED_TURNS = 4;
/** What was used since a time says nothing before so long, ms. */
export const USE_KNOWN_AFTER_MS = 5_000;

/** A turn that a caller has taken. */
export interface Turn {
  readonly turn: number;
  /** The tokens of the turns before it. */
  readonly tokensBefore: number;
}

/** When a turn of the group at a place is due, ms since 1970. Turns before the base are due with it. */
export function dueAtMs(pace: LanePace, place: number, { turn, tokensBefore }: Turn): number {
  const turns = pace.groups[place];
  if (!turns) return pace.heldUntilMs;
  const { baseAtMs, baseTurn, baseTokens, shareRatio } = turns;
  const atMs = Math.max(
    allowedAtMs(risingRate(pace, 'requests'), baseAtMs, (turn - baseTurn) / shareRatio),
    allowedAtMs(risingRate(pace, 'tokens'), baseAtMs, (tokensBefore - baseTokens) / shareRatio),
  );
  return Math.max(pace.heldUntilMs, atMs);
}

/** The next turn that nobody of the group at a place has taken. */
export function nextTurn(pace: LanePace, place: number): Turn {
  const turns = pace.groups[place];
  return { turn: (turns?.lastTurn ?? 0) + 1, tokensBefore: turns?.lastTokens ?? 0 };
}

/** The time between two turns of a group at a time, ms. */
export function intervalMs(pace: LanePace, place: number, nowMs: number): number {
  const perMinute =
    perMinuteAt(risingRate(pace, 'requests'), nowMs) * (pace.groups[place]?.shareRatio ?? 1);
  return 60_000 / perMinute;
}

/** Whether a turn was due so long ago that its group has not used its share. */
export function isOverdue(pace: LanePace, place: number, turn: Turn, nowMs: number): boolean {
  const missedMs = Math.max(1_000 / MISSED_TURNS, intervalMs(pace, place, nowMs)) * MISSED_TURNS;
  return dueAtMs(pace, place, turn) < nowMs - missedMs;
}

/**
 * How much of the requests that a lane allowed since its pace last changed were made, 0..1; null if too little of that is
 * known, or if its requests are not limited.
 */
export function usedRatio(pace: LanePace, nowMs: number): number | null {
  if (paceRate(pace, 'requests', nowMs) === null) return null;
  const known = groupsOf(pace).filter((turns) => nowMs - turns.baseAtMs >= USE_KNOWN_AFTER_MS);
  if (known.length === 0) return null;
  const ratios = known.map((turns) => {
    const allowedCount = dueCount(pace, turns, nowMs);
    const takenCount = Math.max(0, turns.lastTurn - turns.baseTurn + 1);
    return allowedCount === 0 ? 1 : Math.min(1, takenCount / allowedCount);
  });
  return known.reduce((sum, { shareRatio }, index) => sum + shareRatio * (ratios[index] ?? 1), 0);
}

/** How many turns have become due since the base, with the one that is due there. */
function dueCount(pace: LanePace, turns: GroupTurns, nowMs: number): number {
  const { baseAtMs, shareRatio } = turns;
  if (nowMs < Math.max(baseAtMs, pace.heldUntilMs)) return 0;
  return Math.floor(allowedBetween(risingRate(pace, 'requests'), baseAtMs, nowMs) * shareRatio) + 1;
}

/** The pace of a lane whose group was not calling for a while: the turns that passed unused are lost. */
export function afterIdling(
  pace: LanePace,
  { place, turn, nowMs, token }: Change & { readonly place: number; readonly turn: Turn },
): LanePace {
  const groups = pace.groups.map((each, index) =>
    index === place && each !== null
      ? { ...each, baseTurn: turn.turn, baseTokens: turn.tokensBefore, baseAtMs: nowMs }
      : each,
  );
  return { ...pace, groups, token };
}

/**
 * Moves the base of all turns to the first that is not due yet, or that nobody has taken, so that a change moves no turn
 * that is due.
 *
 * @param before - By which turns were due until now.
 * @param pace - The changed pace.
 * @param fromMs - When the first turn is due at the earliest.
 */
export function rebased(before: LanePace, pace: LanePace, nowMs: number, fromMs: number): LanePace {
  const groups = pace.groups.map((turns) => {
    if (turns === null) return null;
    const passed = dueCount(before, turns, nowMs);
    const baseTurn = Math.min(
      turns.baseTurn + passed,
      Math.max(turns.baseTurn, turns.lastTurn + 1),
    );
    const atMs = allowedAtMs(
      risingRate(before, 'requests'),
      turns.baseAtMs,
      (baseTurn - turns.baseTurn) / turns.shareRatio,
    );
    const baseAtMs = Math.max(fromMs === nowMs ? 0 : fromMs, atMs);
    const passedTokens = allowedBetween(
      risingRate(before, 'tokens'),
      turns.baseAtMs,
      Math.max(atMs, nowMs),
    );
    const baseTokens = Math.min(
      turns.baseTokens + passedTokens * turns.shareRatio,
      Math.max(turns.baseTokens, turns.lastTokens),
    );
    return { ...turns, baseTurn, baseTokens, baseAtMs };
  });
  return { ...pace, groups };
}

/** Leaves a group the time of one turn before all others. */
export function withTurnBefore(pace: LanePace, group: string): LanePace {
  const groups = pace.groups.map((turns) =>
    turns?.group === group ? { ...turns, baseTurn: turns.baseTurn - 1 } : turns,
  );
  return { ...pace, groups };
}

/**
 * Gives up the turns that have become too late for their callers to wait for them, so that the next callers take them
 * again. Without this, a lane that only refuses would stand still until the turns of callers that are gone have passed. A
 * caller at the limit may keep its turn, so that two have the same: too often for a lane that answers.
 */
export function withoutLateTurns(pace: LanePace, nowMs: number): LanePace {
  const groups = pace.groups.map((turns) => {
    if (turns === null) return null;
    const { baseAtMs, baseTurn, shareRatio, lastTurn, lastTokens, baseTokens } = turns;
    const untilMs = nowMs + limits.laneWaitMs;
    const inTime = allowedBetween(risingRate(pace, 'requests'), baseAtMs, untilMs) * shareRatio;
    const last = Math.max(baseTurn - 1, baseTurn + Math.floor(inTime));
    if (!(last < lastTurn)) return turns;
    const keptRatio = (last - baseTurn + 1) / (lastTurn - baseTurn + 1);
    const keptTokens = baseTokens + Math.round((lastTokens - baseTokens) * keptRatio);
    return { ...turns, lastTurn: last, lastTokens: keptTokens };
  });
  return { ...pace, groups };
}
