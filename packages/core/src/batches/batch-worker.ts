import { grownOlder, pollDelayMs } from '../calls/pending-response.ts';
import type { Worker } from '../cells/worker.ts';
import type { Batch, BatchedCall, ClosedBatch, SentBatch } from '../domain/batch.ts';
import type { Lane } from '../domain/benchmark.ts';
import { ThriceError } from '../errors.ts';
import { openBreakerFor } from '../lanes/cell-breakers.ts';
import { limits } from '../limits.ts';
import type { BatchClientFor } from '../ports/batch-client.ts';
import type { Batches } from '../ports/batches.ts';

/** What the work on batches needs. */
export interface BatchWorker
  extends Pick<
    Worker,
    'owner' | 'benchmark' | 'ledger' | 'budget' | 'clock' | 'observe' | 'laneHealth'
  > {
  readonly batches: Batches;
  readonly batchClientFor: BatchClientFor;
  /** Has the tasks of cells delivered whose calls have ended. */
  readonly wake: (ended: readonly BatchedCall[]) => Promise<void>;
  /** Whether a worker has ended, so that another looks after its batches. */
  readonly isGone: (owner: string) => boolean;
  /** How much later than it is due the next step with a batch may be, ms. */
  readonly roundMs: number;
}

/** Returns the batch as this worker's, and as old as it is now; undefined while another looks after it. */
export async function takeOver<Sent extends SentBatch>(
  batch: Sent,
  { owner, batches, isGone, clock, roundMs }: BatchWorker,
): Promise<Sent | undefined> {
  if (batch.owner !== owner && !isGone(batch.owner)) return undefined;
  const own = { ...grownOlder(batch, { clock, capMs: limits.batchPollCapMs, roundMs }), owner };
  return (await batches.replace(batch, own)) ? own : undefined;
}

/** The batch as it was before it was sent. */
export function closedAgain({
  batchId,
  group,
  lane,
  model,
  callCount,
  bytes,
  enteredAtMs,
}: SentBatch): ClosedBatch {
  const facts = { batchId, group, lane, model, callCount, bytes, enteredAtMs };
  return { schemaVersion: 1, state: 'closed', ...facts };
}

/**
 * Asks again later, or as soon as there is time again. What is wrong with the lane blocks it, so that people learn of it.
 */
export async function postpone(
  batch: SentBatch,
  error: ThriceError,
  worker: BatchWorker,
): Promise<number> {
  if (error.class === 'internal') throw error;
  if (error.code === 'interrupted') return 0;
  await openBreakerFor(error, { target: batch }, worker);
  return batchDelayMs(batch, error.details.retryAfterMs);
}

/** How long to wait before a batch is asked for again, ms. */
export function batchDelayMs(batch: SentBatch, retryAfterMs?: number): number {
  return pollDelayMs(batch, { capMs: limits.batchPollCapMs, retryAfterMs });
}

/** The lane of a batch, as the benchmark describes it. */
export function laneOf({ lane: name }: Batch, { benchmark }: BatchWorker): Lane {
  const lane = benchmark.lanes.get(name);
  if (lane !== undefined) return lane;
  throw new ThriceError({
    code: 'invariant-violated',
    message: `a batch is for lane "${name}", which the benchmark does not have`,
  });
}
