import { openBreakerFor } from '../../cells/cell-breakers.ts';
import { fullBatchQueue } from '../../cells/cell-errors.ts';
import type { AcceptedBatch, Batch } from '../../domain/batch.ts';
import { ThriceError, toThriceError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import {
  type BatchWorker,
  closedAgain,
  laneOf,
  pollDelayMs,
  postpone,
  takeOver,
} from './batch-worker.ts';
import { endAll } from './end-calls.ts';
import { recordResults } from './record-results.ts';

/** Asks how far an accepted batch is, and records its results once it has ended. */
export async function pollBatch(
  batch: AcceptedBatch,
  worker: BatchWorker,
  signal: AbortSignal,
): Promise<number | undefined> {
  const lane = laneOf(batch, worker);
  const client = worker.batchClientFor(lane);
  const state = await client.poll(lane, batch, signal).catch(toThriceError);
  if (state instanceof ThriceError) {
    const isForgotten =
      state.code === 'unknown-response' &&
      worker.clock.now() - batch.submittedAtMs >= limits.responseVisibleMs;
    if (!isForgotten) return await postpone(batch, state, worker);
    // It was accepted, and may have been worked on.
    await endAll(batch, { problem: 'unanswered', costUsd: null }, worker);
    return undefined;
  }
  if (state.kind === 'pending') return pollDelayMs(batch, worker);
  if (state.problem?.class === 'rate-limited') return await awaitRoom(batch, state.problem, worker);
  if (state.problem !== undefined) {
    await endAll(batch, { problem: state.problem, costUsd: 0 }, worker);
    return undefined;
  }
  return await finish(batch, worker, signal);
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
    await endAll(batch, { problem: 'unanswered', costUsd: null }, worker);
    return undefined;
  }
  await endAll(batch, { problem: 'unanswered', costUsd: 0 }, worker);
  return undefined;
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
  const lane = laneOf(own, worker);
  const state = await worker.batchClientFor(lane).cancel(lane, own, signal).catch(toThriceError);
  if (state instanceof ThriceError) return await postpone(own, state, worker);
  return state.kind === 'ended' ? await finish(own, worker, signal) : pollDelayMs(own, worker);
}
