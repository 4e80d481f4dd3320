import type { CallKey } from '../domain/budget.ts';

/**
 * Notes of the calls that a worker has in flight, which outlive it.
 *
 * A call that was noted, and is neither recorded nor forgotten, may have been billed for nothing: it may be paid twice.
 */
export interface CallNotes {
  /**
   * Notes a call that is about to be sent.
   *
   * @throws {ThriceError} `store-unusable` where it cannot be noted: then it is not to be sent.
   */
  add(call: CallKey): void;
  /** Notes that a call is recorded, in the journal or as accepted. The record settles it, this only makes room. */
  settle(call: CallKey): void;
  /** Forgets a call that has failed, which the log of its cell says. */
  forget(call: CallKey): void;
}
