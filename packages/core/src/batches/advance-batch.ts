import type { Batch } from '../domain/batch.ts';
import { assertNever } from '../errors.ts';
import { type BatchWorker, takeOver } from './batch-worker.ts';
import { pollBatch } from './poll-batch.ts';
import { findSubmitted, sendBatch } from './send-batch.ts';

/**
 * Takes a batch as far as it goes by now: closed to sent, sent to accepted, accepted to recorded.
 *
 * Every step may be repeated, so a worker that is killed is followed by one that takes the last step again.
 *
 * @param batch - As it was read; one that gathers calls has nothing to do.
 * @returns How long to wait before the next step, ms; undefined if the batch is gone, or another worker's.
 */
export async function advanceBatch(
  batch: Batch,
  worker: BatchWorker,
  signal: AbortSignal,
): Promise<number | undefined> {
  switch (batch.state) {
    case 'gathering':
      return undefined;
    case 'closed':
      return await sendBatch(batch, worker, signal);
    case 'announced':
    case 'accepted': {
      const own = await takeOver(batch, worker);
      if (own === undefined) return undefined;
      if (own.state === 'accepted')
        return await pollBatch(own, worker, { isStopping: false, signal });
      return await findSubmitted(own, worker, signal);
    }
    default:
      return assertNever(batch);
  }
}
