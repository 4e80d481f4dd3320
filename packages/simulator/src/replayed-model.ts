import { createHash } from 'node:crypto';
import { canonicalText } from '@thrice/core';
import { type ApiError, invalidRequest } from './api-error.ts';
import { type RequestedCell, replicateOf } from './cell-key.ts';
import type { ModelAnswer, SimulatedModel } from './simulated-model.ts';

/** A call of a recorded run. */
export interface RecordedCall {
  /** The bodies that its request may come with: that which was sent, and those of other addresses. */
  readonly bodies: readonly object[];
  readonly cell: RequestedCell;
  /** Which of the answers to the request it is within its cell, from 0. */
  readonly sample: number;
  readonly answer: ModelAnswer;
}

/** The error code of the 400 response to a request that no recorded call answers. */
const noRecordingCode = 'no_recording';

/** What decides how an answer travels, and whether the vendor keeps it, but not what it says. */
const deliveryFields: ReadonlySet<string> = new Set([
  'stream',
  'stream_options',
  'background',
  'store',
  'metadata',
]);

/**
 * Answers requests with the recorded calls that answered the same.
 *
 * Of several, it takes that of the cell and step which the client names, else one of the same replicate. A client that
 * names no cell gets them in the order of their replicates and samples, one request after the other, then from the
 * start again: this model does remember earlier requests.
 */
export function createReplayedModel(calls: Iterable<RecordedCall>): SimulatedModel {
  const byBody = new Map<string, Recorded>();
  const models = new Set<string>();
  for (const call of calls) {
    for (const key of new Set(call.bodies.map(keyOf))) {
      const recorded: Recorded = byBody.get(key) ?? { calls: [], servedCounts: new Map() };
      byBody.set(key, recorded);
      recorded.calls.push(call);
    }
    for (const body of call.bodies) models.add(String((body as { model?: unknown }).model));
  }
  for (const { calls: recorded } of byBody.values()) recorded.sort(inSampleOrder);
  return {
    modelNames: [...models],
    answer: (_, cell, body) => {
      const recorded = byBody.get(keyOf(JSON.parse(body) as object));
      return recorded === undefined ? notRecorded() : chooseCall(recorded, cell);
    },
  };
}

/** The calls that answer one request. */
interface Recorded {
  readonly calls: RecordedCall[];
  /** How many requests were answered, by the replicate that was asked for. */
  readonly servedCounts: Map<string, number>;
}

function chooseCall(
  { calls, servedCounts }: Recorded,
  cell: RequestedCell | undefined,
): ModelAnswer {
  const replicate = cell === undefined ? '' : replicateOf(cell.run);
  const ofReplicate = calls.filter((call) => replicateOf(call.cell.run) === replicate);
  const candidates = ofReplicate.length === 0 ? calls : ofReplicate;
  const own = candidates.find((call) => cell !== undefined && isSameStep(call.cell, cell));
  const servedCount = servedCounts.get(replicate) ?? 0;
  if (own === undefined) servedCounts.set(replicate, servedCount + 1);
  const chosen = own ?? candidates[servedCount % candidates.length];
  if (chosen === undefined) throw new Error('expected a recorded call');
  return chosen.answer;
}

function isSameStep(left: RequestedCell, right: RequestedCell): boolean {
  return left.config === right.config && left.id === right.id && left.step === right.step;
}

function inSampleOrder(left: RecordedCall, right: RecordedCall): number {
  return replicateNo(left.cell) - replicateNo(right.cell) || left.sample - right.sample;
}

function replicateNo({ run }: RequestedCell): number {
  return Number(replicateOf(run).slice(1));
}

function keyOf(body: object): string {
  const sent = Object.entries(body).filter(([name]) => !deliveryFields.has(name));
  return createHash('sha256')
    .update(canonicalText(Object.fromEntries(sent)))
    .digest('hex');
}

function notRecorded(): ApiError {
  return invalidRequest(
    'The recorded run has no call with this request: another model, prompt or parameter was asked for.',
    noRecordingCode,
  );
}
