import { pollPending } from '../calls/pending-response.ts';
import { fullBatchQueue } from '../cells/cell-errors.ts';
import type { AcceptedBatch, Batch } from '../domain/batch.ts';
import { assertNever, type ThriceError, toThriceError } from '../errors.ts';
import { openBreakerFor } from '../lanes/cell-breakers.ts';
import { limits } from '../limits.ts';
import {
  type BatchWorker,
  batchDelayMs,
  closedAgain,
  laneOf,
  postpone,
  takeOver,
} from './batch-worker.ts';
import { endAll } from './end-calls.ts';
import { recordResults } from './record-results.ts';

/**
 * Asks how far an accepted batch is, or to stop, and records its results once it has ended.
 *
 * @returns How long to wait before asking again, ms; undefined if nothing is left to do.
 */
export async function pollBatch(
  batch: AcceptedBatch,
  worker: BatchWorker,
  { isStopping, signal }: { readonly isStopping: boolean; readonly signal: AbortSignal },
): Promise<number | undefined> {
  const lane = laneOf(batch, worker);
  const client = worker.batchClientFor(lane);
  const ask = async () =>
    isStopping ? await client.cancel(lane, batch, signal) : await client.poll(lane, batch, signal);
  const polled = await pollPending(batch, ask);
  switch (polled.kind) {
    case 'pending':
      return batchDelayMs(batch);
    case 'ended':
      if (polled.problem === undefined || isStopping) return await finish(batch, worker, signal);
      if (polled.problem.class === 'rate-limited')
        return await awaitRoom(batch, polled.problem, worker);
      // The vendor has worked on nothing.
      return await endAll(batch, { problem: polled.problem, costUsd: 0 }, worker);
    case 'forgotten':
      // It was accepted, and may have been worked on.
      return await endAll(batch, { problem: 'unanswered', costUsd: null }, worker);
    case 'unreached':
      return await postpone(batch, polled.error, worker);
    default:
      return assertNever(polled);
  }
}

/**
 * Takes back a batch for which the vendor's queue has no room. Other batches of the group make room as they end;
 * without any, it is for people to say what may be done.
 */
async function awaitRoom(
  batch: AcceptedBatch,
  error: ThriceError,
  worker: BatchWorker,
): Promise<number | undefined> {
  const { batches } = worker;
  if (!(await batches.replace(batch, closedAgain(batch)))) return undefined;
  const waitMs = limits.batchPollCapMs;
  const hasOthers = (await batches.list(batch.group)).some(
    ({ state, lane, model }) =>
      state === 'accepted' && lane === batch.lane && model === batch.model,
  );
  if (hasOthers) worker.observe({ kind: 'batch-postponed', batch, error, waitMs });
  else await openBreakerFor(fullBatchQueue(error), { target: batch }, worker);
  return waitMs;
}

/** Records the results of a batch that has ended. */
async function finish(
  batch: AcceptedBatch,
  worker: BatchWorker,
  signal: AbortSignal,
): Promise<number | undefined> {
  const lane = laneOf(batch, worker);
  try {
    const results = worker.batchClientFor(lane).results(lane, batch, signal);
    await recordResults(batch, results, worker);
  } catch (thrown) {
    const error = toThriceError(thrown);
    if (error.code !== 'unknown-response') return await postpone(batch, error, worker);
    // What it has answered is paid for, and gone.
    return await endAll(batch, { problem: 'unanswered', costUsd: null }, worker);
  }
  return await endAll(batch, { problem: 'unanswered', costUsd: 0 }, worker);
}

/**
 * Asks the vendor to stop working on a batch. What it has worked on until then is paid for: its results are recorded
 * now, if it has stopped at once, or else by whoever resumes the group.
 *
 * @returns How long to wait before asking again, ms; undefined if nothing is left to do.
 */
export async function cancelBatch(
  batch: Batch,
  worker: BatchWorker,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (batch.state !== 'accepted') return undefined;
  const own = await takeOver(batch, worker);
  if (own === undefined) return undefined;
  return await pollBatch(own, worker, { isStopping: true, signal });
}
