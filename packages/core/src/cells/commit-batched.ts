import type { WaitingCall } from '../domain/batch.ts';
import { ThriceError } from '../errors.ts';
import type { BatchedResponse } from '../ports/batch-client.ts';
import { recordResponse } from './record-response.ts';
import type { Worker } from './worker.ts';

/**
 * Records the answer to a call in a batch as that of a live one: in the journal, before anything acts on it.
 *
 * @param sentAtMs - When the batch was sent: what came before it is a wait.
 * @returns Why it does not answer its step; undefined if it does.
 */
export async function commitBatched(
  { cell, callId, place, request, insteadOf, enteredAtMs }: WaitingCall,
  answer: BatchedResponse,
  sentAtMs: number,
  worker: Pick<Worker, 'benchmark' | 'ledger' | 'budget' | 'clock' | 'observe'>,
): Promise<ThriceError | undefined> {
  const { benchmark, ledger, clock, observe } = worker;
  const { lane, model } = request;
  const latencyMs = Math.max(0, clock.now() - sentAtMs);
  const response = { ...answer, latencyMs, ttftMs: null, rateLimits: {} };
  const config = benchmark.configs.find(({ name }) => name === cell.config);
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
