import type { SlotGroups, SlotUse } from '../domain/lanes/slot-use.ts';
import type { ReturnRange } from './lane-paces.ts';

/**
 * The calls in flight of the lanes whose specs limit them, which all workers of a stage share.
 *
 * **Idempotency.** A slot that is taken or returned twice, because a response was lost, counts once. A number in a line that
 * was given twice is passed over.
 * **Limits.** Every write changes one item under one condition, so that no more slots are taken than are asked for, however
 * many workers take some at the same time.
 */
export interface LaneSlots {
  /** Reads the slots of a lane; undefined if no group with a limit has ever called it. */
  read(lane: string): Promise<SlotUse | undefined>;
  /**
   * Changes the groups among which the slots of a lane are shared out.
   *
   * @param existing - What `read` returned; undefined if there was nothing. They are told apart by their tokens.
   * @param next - A group that has kept its place keeps what its callers use; a new one has used its place now.
   * @returns Whether `next` is stored now. If not, other groups are there than in `existing`, or a group that was to leave has
   *   taken a slot, and nothing is changed.
   */
  replace(existing: SlotUse | undefined, next: SlotGroups, nowMs: number): Promise<boolean>;
  /** Takes a slot if there is room for it. Returns the slots as they are then, also where it is refused. */
  take(lane: string, taken: TakenSlot): Promise<SlotTaking>;
  /** Extends a slot. Returns false if it has been freed because it was not extended in time. */
  extend(lane: string, slot: SlotName, untilMs: number): Promise<boolean>;
  /** Returns a slot. One that has been freed counts no more. */
  giveBack(lane: string, slot: SlotName, end: SlotEnd): Promise<void>;
  /** Frees a slot whose holder has died, unless it was extended since. */
  free(lane: string, slot: SlotName, untilMs: number): Promise<void>;
  /** Joins the line of a group. Returns the slots as they are then, with the caller's number as the `lastJoined` of its group. */
  join(lane: string, waiting: WaitingCaller): Promise<SlotUse>;
  /** Notes that a caller of a group still waits. */
  noteWaiting(lane: string, waiting: WaitingCaller): Promise<void>;
  /** Reserves the time at which a cell that is sent back returns, as that of a lane's pace. */
  reserveReturn(lane: string, range: ReturnRange): Promise<number>;
}

/** A slot, taken or not. */
export interface SlotName {
  /** Unique. */
  readonly id: string;
  /** The place of the group. */
  readonly place: number;
}

/** A slot that is to be taken. */
export interface TakenSlot extends SlotName {
  readonly nowMs: number;
  readonly untilMs: number;
  /** Of the caller in the line of its group, if it is the last that is served then. */
  readonly served: number | undefined;
  /** The groups of which the caller knows. With others, it is refused. */
  readonly token: string;
  /** Slots in use after it at most: of the lane, and of the group. */
  readonly limit: number;
  readonly groupLimit: number;
  /** It is refused if a caller of any group has waited since; undefined: never for that. */
  readonly unlessWaitedSinceMs: number | undefined;
}

/** What became of a slot that was to be taken. */
export interface SlotTaking {
  readonly isTaken: boolean;
  /** Undefined if the lane is not known any more. */
  readonly use: SlotUse | undefined;
}

/** The end of a call that had a slot. */
export interface SlotEnd {
  readonly nowMs: number;
  /** How long calls take by then; see `afterCall`. */
  readonly callMs: number;
}

/** A caller that waits for a slot. */
export interface WaitingCaller {
  readonly place: number;
  readonly nowMs: number;
}
