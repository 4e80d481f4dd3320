import type { Batch, BatchedCall, NewBatchedCall, WaitingCall } from '../domain/batch.ts';
import type { CellKey } from '../domain/cell.ts';
import type { BatchLimits } from './batch-client.ts';

/**
 * The batches that cells wait for, and the calls in them.
 *
 * **Delivery.** Once a method resolves, its change is durable and visible to every process.
 * **Idempotency.** Every method can be repeated after a crash. Calls are told apart by their call id.
 * **Limits.** Every write changes one record under one condition: of two processes that replace the same batch, one does.
 */
export interface Batches {
  /**
   * Enters a call in the batch of its group, lane and model that gathers calls; opens one where there is none, and
   * closes one that has no room for it, or for no other.
   *
   * @returns The call of the step that waits now: one that waited before stays in its batch.
   */
  enter(
    group: string,
    call: NewBatchedCall,
    limits: Pick<BatchLimits, 'requestCount' | 'bytes'>,
  ): Promise<WaitingCall>;
  /** Finds the latest call of a step; undefined for one whose call was removed, or never entered. */
  findCall(cell: CellKey, step: string): Promise<BatchedCall | undefined>;
  /** Reads calls of a batch by their call ids, at most `limits.pageSize`. Removed ones are absent. */
  readCalls(batchId: string, callIds: readonly string[]): Promise<ReadonlyMap<string, BatchedCall>>;
  /** Lists the calls of a batch, ended or not, in the order of their call ids. Those removed or entered anew are absent. */
  listCalls(batchId: string): AsyncIterable<BatchedCall>;
  /** Replaces what is known of calls that wait. One that has ended, or was removed, stays as it is. */
  endCalls(ended: readonly BatchedCall[]): Promise<void>;
  /** Removes calls; one that has been entered anew since stays. */
  removeCalls(calls: readonly BatchedCall[]): Promise<void>;
  /** Lists the batches of a group, the oldest first. */
  list(group: string): Promise<readonly Batch[]>;
  /**
   * Replaces a batch.
   *
   * @param existing - As it was read.
   * @returns Whether `batch` is stored now. If not, the stored one is no longer `existing`, and nothing is changed.
   */
  replace(existing: Batch, batch: Batch): Promise<boolean>;
  /** Removes a batch of which no call waits. */
  remove(batch: Batch): Promise<void>;
}
