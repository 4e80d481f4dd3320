import { toRefusal } from '../cells/batched-call.ts';
import { openBreakerFor } from '../cells/cell-breakers.ts';
import { fullBatchQueue, unknownBatch } from '../cells/cell-errors.ts';
import { commitBatched } from '../cells/commit-batched.ts';
import { isCertainlyUnbilled } from '../cells/is-certainly-unbilled.ts';
import type { Worker } from '../cells/worker.ts';
import type { AcceptedBatch, Batch, BatchedCall, SentBatch, WaitingCall } from '../domain/batch.ts';
import type { Lane } from '../domain/benchmark.ts';
import type { CellKey } from '../domain/cell.ts';
import { assertNever, ThriceError, toThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type {
  BatchClientFor,
  BatchRequest,
  BatchResult,
  LostBatch,
} from '../ports/batch-client.ts';
import type { Batches } from '../ports/batches.ts';

/** What the work on batches needs. */
export interface BatchWorker
  extends Pick<
    Worker,
    'owner' | 'benchmark' | 'ledger' | 'budget' | 'clock' | 'observe' | 'laneHealth'
  > {
  readonly batches: Batches;
  readonly batchClientFor: BatchClientFor;
  /** Delivers the tasks of cells whose calls have ended. */
  readonly wake: (cells: readonly CellKey[]) => Promise<void>;
  /** Whether a worker has ended, so that another looks after its batches. */
  readonly isGone: (owner: string) => boolean;
}

/** Why a call in a batch has no answer: a refusal, or that it was not worked on. */
type NoAnswer = ThriceError | 'unanswered';

/**
 * Takes a batch as far as it goes by now: closed to sent, sent to accepted, accepted to recorded.
 *
 * State first: a batch is announced in the ledger before it is sent, and its name is recorded before anybody waits for
 * it. Every step may be repeated, so a worker that is killed is followed by one that takes the last step again.
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
    case 'closed': {
      const { owner, clock, batches } = worker;
      const announced: SentBatch = {
        ...batch,
        state: 'announced',
        owner,
        announcedAtMs: clock.now(),
      };
      if (!(await batches.replace(batch, announced))) return undefined;
      return await submit(announced, worker, signal);
    }
    case 'announced':
    case 'accepted': {
      const own = await takeOver(batch, worker);
      if (own === undefined) return undefined;
      if (own.state === 'accepted') return await poll(own, worker, signal);
      return await search(own, worker, signal);
    }
    default:
      return assertNever(batch);
  }
}

/** Returns the batch as this worker's; undefined while another looks after it. */
async function takeOver<Sent extends SentBatch>(
  batch: Sent,
  { owner, batches, isGone }: BatchWorker,
): Promise<Sent | undefined> {
  if (batch.owner === owner) return batch;
  if (!isGone(batch.owner)) return undefined;
  const own = { ...batch, owner };
  return (await batches.replace(batch, own)) ? own : undefined;
}

async function submit(
  batch: SentBatch,
  worker: BatchWorker,
  signal: AbortSignal,
): Promise<number | undefined> {
  const lane = laneOf(batch, worker);
  const requests: BatchRequest[] = [];
  for await (const call of worker.batches.listWaiting(batch.batchId))
    requests.push(toBatchRequest(call, lane));
  const { batchId } = batch;
  const startedAtMs = worker.clock.monotonicMs();
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
  await endAll(batch, { problem: sent, costUsd: 0 }, worker);
  return undefined;
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

function closedAgain({
  batchId,
  group,
  lane,
  model,
  callCount,
  bytes,
}: SentBatch): Extract<Batch, { readonly state: 'closed' }> {
  const facts = { batchId, group, lane, model, callCount, bytes };
  return { schemaVersion: 1, state: 'closed', ...facts };
}

async function accept(
  batch: SentBatch,
  { endpoint, vendorId }: Pick<AcceptedBatch, 'endpoint' | 'vendorId'>,
  worker: BatchWorker,
): Promise<number | undefined> {
  const accepted: AcceptedBatch = { ...batch, state: 'accepted', endpoint, vendorId };
  if (!(await worker.batches.replace(batch, accepted))) return undefined;
  worker.observe({ kind: 'batch-accepted', batch: accepted });
  return pollDelayMs(accepted, worker);
}

/** Looks for a batch whose submission had no response that is known. */
async function search(
  batch: SentBatch,
  worker: BatchWorker,
  signal: AbortSignal,
): Promise<number | undefined> {
  const lane = laneOf(batch, worker);
  const lost = await describeLost(batch, worker);
  const found = await worker.batchClientFor(lane).find(lane, lost, signal).catch(toThriceError);
  if (found instanceof ThriceError) return await postpone(batch, found, worker);
  if (found === 'unclear') return pollDelayMs(batch, worker);
  if (found !== undefined) return await accept(batch, found, worker);
  const ageMs = worker.clock.now() - batch.announcedAtMs;
  if (ageMs < limits.batchSearchMs) return limits.pollBaseMs;
  await endAll(batch, { problem: unknownBatch(batch), costUsd: null }, worker);
  return undefined;
}

async function describeLost(
  { batchId, group, announcedAtMs: sentAtMs }: SentBatch,
  { batches }: BatchWorker,
): Promise<LostBatch> {
  const customIds = new Set<string>();
  for await (const { callId } of batches.listWaiting(batchId)) customIds.add(callId);
  const others = (await batches.list(group)).flatMap((other) =>
    other.state === 'accepted' ? [other.vendorId] : [],
  );
  return { batchId, sentAtMs, customIds, others: new Set(others) };
}

async function poll(
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
      worker.clock.now() - batch.announcedAtMs >= limits.responseVisibleMs;
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
 */
export async function cancelBatch(
  batch: Batch,
  worker: BatchWorker,
  signal: AbortSignal,
): Promise<void> {
  if (batch.state !== 'accepted') return;
  const own = await takeOver(batch, worker);
  if (own === undefined) return;
  const lane = laneOf(own, worker);
  const state = await worker.batchClientFor(lane).cancel(lane, own, signal).catch(toThriceError);
  if (state instanceof ThriceError) await postpone(own, state, worker);
  else if (state.kind === 'ended') await finish(own, worker, signal);
}

/** Asks again later. What is wrong with the lane blocks it, so that people learn of it. */
async function postpone(
  batch: SentBatch,
  error: ThriceError,
  worker: BatchWorker,
): Promise<number> {
  if (error.class === 'internal') throw error;
  await openBreakerFor(error, { target: batch }, worker);
  return Math.max(error.details.retryAfterMs ?? 0, pollDelayMs(batch, worker));
}

/** Records the results of a batch, a page at a time. */
async function recordResults(
  batch: AcceptedBatch,
  results: AsyncIterable<BatchResult>,
  worker: BatchWorker,
): Promise<void> {
  let page: BatchResult[] = [];
  for await (const result of results) {
    page.push(result);
    if (page.length < limits.pageSize) continue;
    await recordPage(batch, page, worker);
    page = [];
  }
  await recordPage(batch, page, worker);
}

/** A call is removed, or marked as ended, only once its answer is in the journal and its task is on the way. */
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
  const again: BatchedCall[] = [];
  await Promise.all(
    page.map(async (result) => {
      const call = calls.get(result.customId);
      if (call === undefined) return;
      // An earlier reader has ended it, and may have died before it delivered the task.
      if (call.state !== 'waiting') again.push(call);
      else {
        const problem = await recordResult(batch, call, result, worker);
        if (problem === undefined) answered.push(call);
        else ended.push(withEnd(call, problem));
      }
    }),
  );
  await batches.endCalls(ended);
  await worker.wake([...answered, ...ended, ...again].map(({ cell }) => cell));
  await batches.removeCalls(answered);
}

async function recordResult(
  { announcedAtMs }: AcceptedBatch,
  call: WaitingCall,
  result: BatchResult,
  worker: BatchWorker,
): Promise<NoAnswer | undefined> {
  switch (result.kind) {
    case 'answered':
      return await commitBatched(call, result.response, announcedAtMs, worker);
    case 'refused':
      await settleBudget(call, 0, worker);
      return result.error;
    case 'expired':
    case 'canceled':
      await settleBudget(call, 0, worker);
      return 'unanswered';
    default:
      return assertNever(result);
  }
}

/**
 * Ends whatever still waits in a batch, and removes it.
 *
 * @param end.costUsd - Of each call; null where nobody knows.
 */
async function endAll(
  batch: Batch,
  { problem, costUsd }: { readonly problem: NoAnswer; readonly costUsd: number | null },
  worker: BatchWorker,
): Promise<void> {
  const { batches } = worker;
  let page: BatchedCall[] = [];
  let endedCount = 0;
  const endPage = async () => {
    await batches.endCalls(page);
    await worker.wake(page.map(({ cell }) => cell));
    page = [];
  };
  for await (const call of batches.listWaiting(batch.batchId)) {
    await settleBudget(call, costUsd, worker);
    page.push(withEnd(call, problem));
    endedCount += 1;
    if (page.length === limits.pageSize) await endPage();
  }
  await endPage();
  await batches.remove(batch);
  const error = problem === 'unanswered' ? undefined : problem;
  worker.observe({ kind: 'batch-ended', batch, error, unansweredCount: endedCount });
}

async function settleBudget(
  { cell, place, callId }: WaitingCall,
  costUsd: number | null,
  { budget }: BatchWorker,
): Promise<void> {
  await budget?.settle({ cell, step: place.step, callId }, costUsd);
}

function withEnd(call: WaitingCall, problem: NoAnswer): BatchedCall {
  if (problem === 'unanswered') return { ...call, state: 'unanswered' };
  return { ...call, state: 'refused', refusal: toRefusal(problem) };
}

function toBatchRequest({ callId, cell, place, request }: WaitingCall, lane: Lane): BatchRequest {
  const { isBackground: _, lane: __, ...parameters } = request;
  return { customId: callId, request: { ...parameters, lane, cell, step: place.step } };
}

function laneOf({ lane: name }: Batch, { benchmark }: BatchWorker): Lane {
  const lane = benchmark.lanes.get(name);
  if (lane !== undefined) return lane;
  throw new ThriceError({
    code: 'invariant-violated',
    message: `a batch is for lane "${name}", which the benchmark does not have`,
  });
}

/** A tenth of the time that the batch has taken so far, so that polling adds no more than that. */
function pollDelayMs({ announcedAtMs }: SentBatch, { clock }: BatchWorker): number {
  const ageMs = clock.now() - announcedAtMs;
  return Math.min(limits.batchPollCapMs, Math.max(limits.pollBaseMs, ageMs / 10));
}
