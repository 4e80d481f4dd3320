import { toRefusal } from '../calls/batched-call.ts';
import type { Batch, BatchedCall, WaitingCall } from '../domain/batch.ts';
import type { ThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import { mapBounded } from '../map-bounded.ts';
import type { BatchWorker } from './batch-worker.ts';

/** Calls whose budget is settled concurrently. */
const SETTLED_AT_ONCE = 16;

/** Why a call in a batch has no answer: a refusal, or that it was not worked on. */
export type NoAnswer = ThriceError | 'unanswered';

/**
 * Ends whatever still waits in a batch, has the tasks of all calls delivered that it has not answered, and removes it.
 *
 * A worker that dies in between is followed by one that finds the ended calls in the batch, and has their tasks delivered.
 *
 * @param end.costUsd - Of each call; null where nobody knows.
 */
export async function endAll(
  batch: Batch,
  { problem, costUsd }: { readonly problem: NoAnswer; readonly costUsd: number | null },
  worker: BatchWorker,
): Promise<undefined> {
  const { batches } = worker;
  let page: BatchedCall[] = [];
  let endedCount = 0;
  const endPage = async () => {
    const waiting = page.flatMap((call) => (call.state === 'waiting' ? [call] : []));
    endedCount += waiting.length;
    await mapBounded(waiting, SETTLED_AT_ONCE, (call) => settleBudget(call, costUsd, worker));
    await batches.endCalls(waiting.map((call) => withEnd(call, problem)));
    await worker.wake(page);
    page = [];
  };
  for await (const call of batches.listCalls(batch.batchId)) {
    page.push(call);
    if (page.length === limits.pageSize) await endPage();
  }
  if (page.length > 0) await endPage();
  await batches.remove(batch);
  const error = problem === 'unanswered' ? undefined : problem;
  worker.observe({ kind: 'batch-ended', batch, error, unansweredCount: endedCount });
}

/** Settles what a budget holds for a call; null where nobody knows what it cost. */
export async function settleBudget(
  { cell, place, callId }: WaitingCall,
  costUsd: number | null,
  { budget }: BatchWorker,
): Promise<void> {
  await budget?.settle({ cell, step: place.step, callId }, costUsd);
}

/** A call as it is once it will not be answered in its batch. */
export function withEnd(call: WaitingCall, problem: NoAnswer): BatchedCall {
  if (problem === 'unanswered') return { ...call, state: 'unanswered' };
  return { ...call, state: 'refused', refusal: toRefusal(problem) };
}
