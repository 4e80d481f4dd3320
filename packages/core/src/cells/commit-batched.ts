import type { WaitingCall } from '../domain/batch.ts';
import type { Call } from '../domain/call.ts';
import type { ThriceError } from '../errors.ts';
import type { BatchedResponse } from '../ports/batch-client.ts';
import { isOtherModel, withPayment } from './cell-errors.ts';
import { describeCall, findFault } from './describe-call.ts';
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
  const { benchmark, ledger, budget, clock, observe } = worker;
  const { step } = place;
  const { lane, model } = request;
  const latencyMs = Math.max(0, clock.now() - sentAtMs);
  const response = { ...answer, latencyMs, ttftMs: null, rateLimits: {} };
  const config = benchmark.configs.find(({ name }) => name === cell.config);
  const policy = config?.servedModel ?? benchmark.lanes.get(lane)?.servedModel ?? 'pin';
  const fault = findFault(response, request, policy);
  const waitMs = Math.max(0, sentAtMs - enteredAtMs);
  const sent = { startedAtMs: sentAtMs, waitMs };
  const facts = describeCall({ step, request, insteadOf }, response, sent, worker);
  const call: Call = { ...facts, discarded: fault?.code ?? null };
  const { output, raw } = response;
  const entry = {
    schemaVersion: 1,
    kind: 'model-call',
    callId,
    ...place,
    call,
    output,
    raw,
  } as const;
  await ledger.commitCall(cell, entry);
  await budget?.settle({ cell, step, callId }, call.costUsd);
  if (fault !== undefined) return withPayment(fault, call);
  observe({ kind: 'server-responded', key: cell, lane, model });
  if (policy === 'warn' && isOtherModel(response, model)) {
    const servedModel = response.servedModel ?? '';
    observe({ kind: 'other-model-served', key: cell, lane, model, servedModel });
  }
  return undefined;
}
