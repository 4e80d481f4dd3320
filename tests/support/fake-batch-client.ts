import type {
  BatchClient,
  BatchLimits,
  BatchResult,
  BatchState,
  Lane,
  LostBatch,
  PendingResponse,
} from '@thrice/core';
import { aModelResponse } from './builders.ts';

/** A batch that a fake vendor has. */
interface AcceptedBatch {
  readonly batchId: string;
  readonly customIds: readonly string[];
}

/** A vendor's batch interface with programmed results, which is done with every batch at once unless it is told to take its time. */
export class FakeBatchClient implements BatchClient {
  readonly limits: BatchLimits = { requestCount: 10_000, bytes: 1e9, hasOneModel: true };
  readonly accepted: AcceptedBatch[] = [];
  /** The requests that it got, in order: `submit`, `poll` and so on. */
  readonly asked: string[] = [];
  /** The requests that were worked on, so that they are billed. */
  readonly billed: string[] = [];
  /** Whether batches are still worked on. */
  isBusy = false;
  /** Whether a batch that is canceled has ended at once. */
  stopsAtOnce = true;
  /** The result of a request. */
  resultOf: (customId: string) => BatchResult = (customId) => {
    this.billed.push(customId);
    return { customId, kind: 'answered', response: { ...aModelResponse() } };
  };

  submit: BatchClient['submit'] = async ({ batchId, requests }) => {
    this.asked.push('submit');
    this.accepted.push({ batchId, customIds: [...requests].map(({ customId }) => customId) });
    return nameOf(this.accepted.length);
  };

  async poll(): Promise<BatchState> {
    this.asked.push('poll');
    return this.#state();
  }

  async *results(_lane: Lane, { vendorId }: PendingResponse): AsyncGenerator<BatchResult> {
    this.asked.push('results');
    const batch = this.accepted.find((_, index) => nameOf(index + 1).vendorId === vendorId);
    for (const customId of batch?.customIds ?? []) yield this.#result(customId);
  }

  async cancel(): Promise<BatchState> {
    this.asked.push('cancel');
    if (this.stopsAtOnce) this.isBusy = false;
    return this.#state();
  }

  async find(_lane: Lane, { batchId }: LostBatch): Promise<PendingResponse | undefined> {
    this.asked.push('find');
    const index = this.accepted.findIndex((batch) => batch.batchId === batchId);
    return index === -1 ? undefined : nameOf(index + 1);
  }

  readonly #results = new Map<string, BatchResult>();

  /** The same each time that it is read. */
  #result(customId: string): BatchResult {
    const result = this.#results.get(customId) ?? this.resultOf(customId);
    this.#results.set(customId, result);
    return result;
  }

  #state(): BatchState {
    return this.isBusy ? { kind: 'pending' } : { kind: 'ended', problem: undefined };
  }
}

function nameOf(no: number): PendingResponse {
  return { endpoint: 'http://127.0.0.1:1800/v1', vendorId: `batch_${no}` };
}
