import { recordResponse } from '../calls/record-response.ts';
import { explainRefusal } from '../cells/cell-errors.ts';
import type { AcceptedBatch, BatchedCall, WaitingCall } from '../domain/batch.ts';
import { findConfig } from '../domain/benchmark.ts';
import { assertNever, ThriceError } from '../errors.ts';
import type { BatchedResponse, BatchResult } from '../ports/batch-client.ts';
import type { BatchWorker } from './batch-worker.ts';
import { type NoAnswer, settleBudget, withEnd } from './end-calls.ts';

/** Results in memory. An answer may have a megabyte, and takes several times that while it is recorded. */
const RESULTS_AT_ONCE = 50;

/** Records the results of a batch, a page at a time. */
export async function recordResults(
  batch: AcceptedBatch,
  results: AsyncIterable<BatchResult>,
  worker: BatchWorker,
): Promise<void> {
  let page: BatchResult[] = [];
  for await (const result of results) {
    page.push(result);
    if (page.length < RESULTS_AT_ONCE) continue;
    await recordPage(batch, page, worker);
    page = [];
  }
  await recordPage(batch, page, worker);
}

/**
 * A call is removed only once its answer is in the journal and its task is on the way. The tasks of those that have ended
 * without an answer follow with the end of the batch.
 */
async function recordPage(
  batch: AcceptedBatch,
  page: readonly BatchResult[],
  worker: BatchWorker,
): Promise<void> {
  const { batches } = worker;
  const ids = page.map(({ customId }) => customId);
  const calls = await batches.readCalls(batch.batchId, ids);
  const answered: BatchedCall[] = [];
  const ended: BatchedCall[] = [];
  await Promise.all(
    page.map(async (result) => {
      const call = calls.get(result.customId);
      if (call?.state !== 'waiting') return;
      const problem = await recordResult(batch, call, result, worker);
      if (problem === undefined) answered.push(call);
      else ended.push(withEnd(call, problem));
    }),
  );
  await batches.endCalls(ended);
  await worker.wake(answered);
  await batches.removeCalls(answered);
}

async function recordResult(
  batch: AcceptedBatch,
  call: WaitingCall,
  result: BatchResult,
  worker: BatchWorker,
): Promise<NoAnswer | undefined> {
  switch (result.kind) {
    case 'answered':
      return await recordAnswer(call, result.response, batch, worker);
    case 'refused':
      await settleBudget(call, 0, worker);
      return explainRefusal(result.error, call.request);
    case 'expired':
    case 'canceled':
      await settleBudget(call, 0, worker);
      return 'unanswered';
    default:
      return assertNever(result);
  }
}

/**
 * Records the answer to a call in a batch as that of a live one: in the journal, before anything acts on it.
 *
 * @param batch - What came before it was sent is a wait.
 * @returns Why it does not answer its step; undefined if it does.
 */
async function recordAnswer(
  { cell, callId, place, request, insteadOf, enteredAtMs }: WaitingCall,
  answer: BatchedResponse,
  { submittedAtMs: sentAtMs, ageMs: latencyMs }: AcceptedBatch,
  worker: BatchWorker,
): Promise<ThriceError | undefined> {
  const { benchmark, ledger, observe } = worker;
  const { lane, model } = request;
  const response = { ...answer, latencyMs, ttftMs: null, rateLimits: {} };
  const config = findConfig(benchmark, cell.config);
  const recorded = await recordResponse(
    {
      key: cell,
      option: { step: place.step, request, insteadOf },
      place,
      servedModel: config?.servedModel ?? benchmark.lanes.get(lane)?.servedModel ?? 'pin',
      callId,
      startedAtMs: sentAtMs,
      waitMs: Math.max(0, sentAtMs - enteredAtMs),
      response,
    },
    (entry) => ledger.commitCall(cell, entry),
    worker,
  );
  if (recorded instanceof ThriceError) return recorded;
  observe({ kind: 'server-responded', key: cell, lane, model });
  return undefined;
}
