import { type CellAtWork, type IdentifiedCall, placeOf } from '../cells/cell-at-work.ts';
import { noBatches } from '../cells/cell-errors.ts';
import { logAttempt } from '../cells/handle-failure.ts';
import type { Worker } from '../cells/worker.ts';
import type { BatchedCall } from '../domain/batch.ts';
import type { Lane } from '../domain/benchmark.ts';
import { breakersFor } from '../domain/breaker.ts';
import type { CellKey } from '../domain/cell.ts';
import { groupOfRun } from '../domain/group.ts';
import { type ErrorDetails, ThriceError } from '../errors.ts';
import { openBreakerFor } from '../lanes/cell-breakers.ts';
import { batchLimits, limits } from '../limits.ts';
import type { Batches } from '../ports/batches.ts';
import type { PassedOverCall } from './call-options.ts';
import { type CallOutcome, toOutcome } from './call-outcome.ts';
import { reserveCall } from './model-call.ts';

type Refusal = Extract<BatchedCall, { readonly state: 'refused' }>['refusal'];

/** The cell waits for whoever records the answer. */
const WAITING = {
  kind: 'pending',
  delayMs: limits.batchedDelayMs,
  isBatched: true,
} as const;

/**
 * Enters a call in a batch, or finds out what has become of it there.
 *
 * @param lane - That of the request.
 * @returns Undefined for a call to make live.
 */
export async function callInBatch(
  cell: CellAtWork,
  call: IdentifiedCall,
  lane: Lane,
): Promise<CallOutcome | PassedOverCall | undefined> {
  const { batches } = cell.worker;
  if (batches === undefined) {
    if (lane.batch === undefined) return undefined;
    throw noBatches(call.request);
  }
  // Also where the lane's calls are live by now: what waits in a batch is paid for.
  const latest = cell.journal.isFirst ? undefined : await batches.findCall(cell.key, call.step);
  if (latest?.state === 'waiting') return WAITING;
  if (latest?.state === 'refused') {
    await batches.removeCalls([latest]);
    const error = toError(latest.refusal);
    if (error.code !== 'worker-died') {
      await openBreakerFor(error, { target: call.request }, cell.worker);
      return toOutcome({ error, delayMs: error.details.retryAfterMs ?? limits.pollCapMs });
    }
    // Nobody knows what became of the last batch that it was in.
    logAttempt(cell, error, 0);
  }
  if (lane.batch === undefined) return undefined;
  if (latest?.state === 'unanswered' && lane.batch.otherwise === 'live') return undefined;
  return await enter(cell, call, { batches, latest });
}

async function enter(
  cell: CellAtWork,
  call: IdentifiedCall,
  { batches, latest }: { readonly batches: Batches; readonly latest: BatchedCall | undefined },
): Promise<CallOutcome | PassedOverCall> {
  const { key, question, worker } = cell;
  const { step, request, insteadOf } = call;
  // Whoever records an answer removes the call only then, which may have been after the journal was read.
  const recorded = (await cell.journal.read()).get(step);
  if (recorded !== undefined) return { kind: 'recorded', entry: recorded };
  const [breaker] = breakersFor(request, worker.openBreakers);
  if (breaker !== undefined) return { passedOver: breaker };
  const callId = nameCall(key, step, { ...worker, latest });
  const unsent = await reserveCall(cell, call, { callId, isBatched: true });
  if (unsent?.kind === 'budget-short') {
    // No end of a batch would have the task delivered.
    if (unsent.isStoreBusy) return { kind: 'pending', delayMs: limits.budgetQueueMs };
    // Until calls in flight end, those in batches among them, which may take a day.
    return { ...WAITING, delayMs: limits.pollCapMs };
  }
  if (unsent !== undefined) return unsent;
  const entered = await batches.enter(
    groupOfRun(key.run),
    {
      schemaVersion: 1,
      callId,
      cell: key,
      question,
      place: placeOf(cell, call),
      insteadOf,
      request,
      enteredAtMs: worker.clock.now(),
    },
    batchLimits,
  );
  // Another worker has entered it meanwhile.
  if (entered.callId !== callId) await worker.budget?.settle({ cell: key, step, callId }, 0);
  return WAITING;
}

/**
 * Names a call in a batch: told to the vendor, so without the name of the worker, which has that of its host.
 *
 * @param latest - The call of the step before, whose name no clock that is set gives it again.
 */
function nameCall(
  { run, config, id }: CellKey,
  step: string,
  {
    clock,
    createDigest,
    latest,
  }: Pick<Worker, 'clock' | 'createDigest'> & { readonly latest: BatchedCall | undefined },
): string {
  const digest = createDigest();
  digest.update(JSON.stringify([run, config, id, step, clock.now(), latest?.callId]));
  return digest.hex();
}

/** What a batch keeps of an error, for the cell that acts on it. */
export function toRefusal({ code, message, details }: ThriceError): Refusal {
  const { retryAfterMs, resetAt, status, breakerScope, latencyMs, costUsd } = details;
  const kept = { retryAfterMs, resetAt, status, breakerScope, latencyMs, costUsd };
  return { code, message, details: known(kept) };
}

function toError({ code, message, details }: Refusal): ThriceError {
  return new ThriceError({ code, message, details });
}

function known(details: ErrorDetails): Refusal['details'] {
  return Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined));
}
