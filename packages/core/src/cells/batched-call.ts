import type { BatchedCall } from '../domain/batch.ts';
import type { Lane } from '../domain/benchmark.ts';
import { breakersFor, type OpenBreaker } from '../domain/breaker.ts';
import type { JournalEntry, JournalPlace } from '../domain/call.ts';
import type { CellKey } from '../domain/cell.ts';
import type { QuestionRange } from '../domain/cell-task.ts';
import { groupOfRun } from '../domain/group.ts';
import { type ErrorDetails, ThriceError, toThriceError } from '../errors.ts';
import { batchLimits, limits } from '../limits.ts';
import type { Batches } from '../ports/batches.ts';
import type { CallOption, PassedOverCall } from './call-options.ts';
import { openBreakerFor } from './cell-breakers.ts';
import { noBatches } from './cell-errors.ts';
import { failed } from './failed-call.ts';
import type { CallOutcome } from './model-call.ts';
import type { Worker } from './worker.ts';

type Refusal = Extract<BatchedCall, { readonly state: 'refused' }>['refusal'];

/** What a call that goes through a batch needs. */
export interface BatchedCallInit {
  readonly key: CellKey;
  readonly question: QuestionRange;
  readonly option: CallOption;
  /** That of the request. */
  readonly lane: Lane;
  readonly place: JournalPlace;
  readonly worker: Worker;
  /** No worker has made a call for the cell before. */
  readonly isFirst: boolean;
  /** Reads the journal again, for the entry that answers the step. */
  readonly findRecorded: () => Promise<JournalEntry | undefined>;
  /** Nobody knows what became of the last batch that it was in. */
  readonly onUnknown: (error: ThriceError) => void;
}

/** The cell waits for whoever records the answer. */
const WAITING = {
  kind: 'pending',
  delayMs: limits.batchedDelayMs,
  isBatched: true,
} as const;

/**
 * Enters a call in a batch, or finds out what has become of it there.
 *
 * @returns Undefined for a call to make live.
 */
export async function callInBatch(
  init: BatchedCallInit,
): Promise<CallOutcome | PassedOverCall | undefined> {
  const { key, option, lane, worker } = init;
  const { batches } = worker;
  if (batches === undefined) {
    if (lane.batch === undefined) return undefined;
    throw noBatches(option.request);
  }
  // Also where the lane's calls are live by now: what waits in a batch is paid for.
  const latest = init.isFirst ? undefined : await batches.findCall(key, option.step);
  if (latest?.state === 'waiting') return WAITING;
  if (latest?.state === 'refused') {
    await batches.removeCalls([latest]);
    const error = toError(latest.refusal);
    if (error.code !== 'worker-died') return await refuse(error, init);
    init.onUnknown(error);
  }
  if (lane.batch === undefined) return undefined;
  if (latest?.state === 'unanswered' && lane.batch.otherwise === 'live') return undefined;
  return await enter(init, batches);
}

async function refuse(
  error: ThriceError,
  { option, worker }: BatchedCallInit,
): Promise<CallOutcome> {
  await openBreakerFor(error, { target: option.request }, worker);
  const delayMs = error.details.retryAfterMs ?? limits.pollCapMs;
  return { kind: 'failed', call: { error, delayMs }, isExpected: false };
}

async function enter(
  { key, question, option, place, worker, isFirst, findRecorded }: BatchedCallInit,
  batches: Batches,
): Promise<CallOutcome | PassedOverCall> {
  // Whoever records an answer removes the call only then, which may have been after the journal was read.
  const recorded = isFirst ? undefined : await findRecorded();
  if (recorded !== undefined) return { kind: 'recorded', entry: recorded };
  const { step, request, insteadOf } = option;
  const { budget, clock, openBreakers } = worker;
  const [breaker]: readonly OpenBreaker[] = breakersFor(request, openBreakers);
  if (breaker !== undefined) return { passedOver: breaker };
  const callId = nameCall(key, step, worker);
  const reserving = await budget
    ?.reserve(key, { step, callId, request, isBatched: true })
    .catch(toThriceError);
  if (reserving instanceof ThriceError) {
    // A store that is away says nothing about the cell.
    if (reserving.code === 'store-unavailable') throw reserving;
    return { kind: 'failed', call: failed(reserving), isExpected: false };
  }
  if (reserving?.kind === 'refused') return { kind: 'budget-refused', refusal: reserving };
  // No end of a batch would have the task delivered.
  if (reserving?.kind === 'busy') return { kind: 'pending', delayMs: limits.budgetQueueMs };
  // Until calls in flight end, those in batches among them, which may take a day.
  if (reserving?.kind === 'short') return { ...WAITING, delayMs: limits.pollCapMs };
  const enteredAtMs = clock.now();
  const call = {
    schemaVersion: 1,
    callId,
    cell: key,
    question,
    place,
    insteadOf,
    request,
    enteredAtMs,
  } as const;
  const entered = await batches.enter(groupOfRun(key.run), call, batchLimits);
  // Another worker has entered it meanwhile.
  if (entered.callId !== callId) await budget?.settle({ cell: key, step, callId }, 0);
  return WAITING;
}

/** Names a call in a batch: told to the vendor, so without the name of the worker, which has that of its host. */
function nameCall(
  { run, config, id }: CellKey,
  step: string,
  { clock, createDigest }: Pick<Worker, 'clock' | 'createDigest'>,
): string {
  const digest = createDigest();
  digest.update(JSON.stringify([run, config, id, step, clock.now()]));
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
