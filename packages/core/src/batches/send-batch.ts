import { isCertainlyUnbilled } from '../calls/is-certainly-unbilled.ts';
import { newlySent } from '../calls/pending-response.ts';
import { unknownBatch } from '../cells/cell-errors.ts';
import type { AcceptedBatch, ClosedBatch, SentBatch, WaitingCall } from '../domain/batch.ts';
import type { Lane } from '../domain/benchmark.ts';
import { ThriceError, toThriceError } from '../errors.ts';
import { openBreakerFor } from '../lanes/cell-breakers.ts';
import { limits } from '../limits.ts';
import type { BatchRequest, LostBatch } from '../ports/batch-client.ts';
import { type BatchWorker, batchDelayMs, closedAgain, laneOf, postpone } from './batch-worker.ts';
import { endAll } from './end-calls.ts';

/** Announces a batch and hands it over to its vendor. */
export async function sendBatch(
  closed: ClosedBatch,
  worker: BatchWorker,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { owner, clock, batches } = worker;
  const announcement = { owner, ...newlySent(clock) };
  const batch: SentBatch = { ...closed, state: 'announced', ...announcement };
  if (!(await batches.replace(closed, batch))) return undefined;
  const lane = laneOf(batch, worker);
  const requests: BatchRequest[] = [];
  for await (const call of batches.listCalls(batch.batchId))
    if (call.state === 'waiting') requests.push(toBatchRequest(call, lane));
  const { batchId } = batch;
  const startedAtMs = clock.monotonicMs();
  const sent = await worker
    .batchClientFor(lane)
    .submit({ lane, batchId, requests }, signal)
    .catch(toThriceError);
  if (!(sent instanceof ThriceError)) {
    worker.laneHealth.noteResponse(batch.lane, startedAtMs);
    return await accept(batch, sent, worker);
  }
  if (sent.class === 'internal') throw sent;
  if (!isCertainlyUnbilled(sent)) return limits.pollBaseMs;
  if (isOfLane(sent)) return await takeBack(batch, { error: sent, startedAtMs }, worker);
  return await endAll(batch, { problem: sent, costUsd: 0 }, worker);
}

/** Whether an error of a whole batch says nothing about its calls: it is sent again as it is. */
function isOfLane({ class: errorClass, code }: ThriceError): boolean {
  if (errorClass === 'rate-limited' || errorClass === 'conflict') return true;
  return ['connection-failed', 'model-unavailable', 'model-timeout'].includes(code);
}

/**
 * Takes back a batch that the vendor does not have, so that it is sent again. While the lane's servers are out, that
 * waits for their breaker.
 */
async function takeBack(
  batch: SentBatch,
  { error, startedAtMs }: { readonly error: ThriceError; readonly startedAtMs: number },
  worker: BatchWorker,
): Promise<number | undefined> {
  if (!(await worker.batches.replace(batch, closedAgain(batch)))) return undefined;
  const call = { cell: undefined, startedAtMs };
  const diagnosis = worker.laneHealth.noteFailure(batch.lane, error, call);
  await openBreakerFor(error, { target: batch, diagnosis }, worker);
  if (diagnosis.outage !== undefined) return limits.outageProbeBaseMs;
  const waitMs = error.details.retryAfterMs ?? limits.pollCapMs;
  // One that its user has stopped is sent by whoever resumes the group.
  if (error.class !== 'conflict') worker.observe({ kind: 'batch-postponed', batch, error, waitMs });
  return waitMs;
}

function toBatchRequest({ callId, cell, place, request }: WaitingCall, lane: Lane): BatchRequest {
  const { isBackground: _, lane: __, ...parameters } = request;
  return { customId: callId, request: { ...parameters, lane, cell, step: place.step } };
}

/** Looks for a batch whose submission had no response that is known. */
export async function findSubmitted(
  batch: SentBatch,
  worker: BatchWorker,
  signal: AbortSignal,
): Promise<number | undefined> {
  const lane = laneOf(batch, worker);
  const lost = await describeLost(batch, worker);
  const found = await worker.batchClientFor(lane).find(lane, lost, signal).catch(toThriceError);
  if (found instanceof ThriceError) return await postpone(batch, found, worker);
  if (found === 'unclear') return batchDelayMs(batch);
  if (found !== undefined) return await accept(batch, found, worker);
  if (batch.ageMs < limits.batchSearchMs) return batchDelayMs(batch);
  return await endAll(batch, { problem: unknownBatch(batch), costUsd: null }, worker);
}

async function describeLost(
  { batchId, group, submittedAtMs: sentAtMs }: SentBatch,
  { batches }: BatchWorker,
): Promise<LostBatch> {
  const customIds = new Set<string>();
  for await (const { callId } of batches.listCalls(batchId)) customIds.add(callId);
  const others = (await batches.list(group)).flatMap((other) =>
    other.state === 'accepted' ? [other.vendorId] : [],
  );
  return { batchId, sentAtMs, customIds, others: new Set(others) };
}

async function accept(
  batch: SentBatch,
  { endpoint, vendorId }: Pick<AcceptedBatch, 'endpoint' | 'vendorId'>,
  worker: BatchWorker,
): Promise<number | undefined> {
  const accepted: AcceptedBatch = { ...batch, state: 'accepted', endpoint, vendorId };
  if (!(await worker.batches.replace(batch, accepted))) return undefined;
  worker.observe({ kind: 'batch-accepted', batch: accepted });
  return batchDelayMs(accepted);
}
