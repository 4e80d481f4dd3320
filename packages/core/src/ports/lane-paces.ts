import type { LanePace } from '../domain/lanes/lane-pace.ts';

/**
 * The paces of rate-limited lanes, which all workers of a stage share.
 *
 * **Idempotency.** Turns that were taken twice, because a response was lost, pass without a call.
 * **Limits.** Every write changes one item under one condition.
 */
export interface LanePaces {
  /** Reads the pace of a lane; undefined if none was ever stored. */
  read(lane: string): Promise<LanePace | undefined>;
  /**
   * Changes the pace of a lane.
   *
   * @param existing - The pace that `read` returned; undefined if there was none. Paces are told apart by their tokens.
   * @param pace - The turns of a group that has kept its place stay taken, also those since the reading, unless its
   * `lastTurn` is below that of `existing`: then the turns behind it are given up and will be taken again.
   * @returns Whether `pace` is stored now. If not, the stored pace is no longer `existing`, and nothing is changed.
   */
  replace(existing: LanePace | undefined, pace: LanePace): Promise<boolean>;
  /**
   * Takes the next turns at a place of a lane that has a pace. Only turns that were given up are taken twice.
   *
   * @returns The pace with these turns, the last of which is the place's `lastTurn`.
   */
  takeTurns(lane: string, place: number, taken: TakenTurns): Promise<LanePace>;
  /**
   * Counts calls and refusals of a lane that has a pace. Turns that are taken count as calls.
   *
   * @returns The pace with these.
   */
  count(lane: string, counted: CountedCalls): Promise<LanePace>;
  /**
   * Reserves the time at which a cell that is sent back returns, ms since 1970, for a lane that has a pace: so long after
   * the last one that was reserved. After the end of the range, times are reserved from its start again.
   */
  reserveReturn(lane: string, range: ReturnRange): Promise<number>;
}

/** Calls of a lane. */
export interface CountedCalls {
  readonly calls: number;
  readonly refusals: number;
}

/** Turns that are taken together. */
export interface TakenTurns {
  readonly count: number;
  /** Of all of them; less than 0 where calls before took fewer than they were expected to. */
  readonly tokens: number;
}

/** The times at which a cell that is sent back may return, ms since 1970. */
export interface ReturnRange {
  readonly earliestMs: number;
  readonly latestMs: number;
  /** Between two cells. */
  readonly intervalMs: number;
}
