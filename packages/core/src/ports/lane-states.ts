import type { LaneState } from '../domain/lane-state.ts';

/**
 * The records of lanes, which all workers of an engine share. A record that cannot be read, because it is damaged or of
 * another version, says nothing about its lane, and the next write replaces it: what it said is learned again in minutes.
 *
 * **Idempotency.** A write whose response was lost is there, and `replace` may say that it is not: the counts of a report are
 * hints, and may be added twice.
 * **Limits.** Every write changes one item under one condition.
 */
export interface LaneStates {
  /** Reads the state of a lane; undefined if none is stored, `unknownLane` if it cannot be read. */
  read(lane: string): Promise<LaneState | undefined>;
  /**
   * Replaces the state of a lane.
   *
   * @param existing - What `read` returned; undefined if there was none. States are told apart by their revisions.
   * @returns Whether `next` is stored now. If not, the stored state is no longer `existing`, and nothing is changed.
   */
  replace(lane: string, existing: LaneState | undefined, next: LaneState): Promise<boolean>;
}
