import { isDeepStrictEqual } from 'node:util';
import type {
  Batch,
  BatchedCall,
  Batches,
  CellKey,
  NewBatchedCall,
  WaitingCall,
} from '@thrice/core';

/** The batches of groups, in memory. */
export class FakeBatches implements Batches {
  /** How many batches there are. */
  get count(): number {
    return this.#batches.size;
  }

  /** Oldest first. */
  readonly #batches = new Map<string, Batch>();
  readonly #calls = new Map<string, BatchedCall>();

  async enter(
    group: string,
    call: NewBatchedCall,
    limits: Parameters<Batches['enter']>[2],
  ): Promise<WaitingCall> {
    const name = nameOf(call.cell, call.place.step);
    const existing = this.#calls.get(name);
    if (existing?.state === 'waiting') return existing;
    const { lane, model } = call.request;
    const bytes = Buffer.byteLength(JSON.stringify(call.request));
    let batch = [...this.#batches.values()].find(
      (each) =>
        each.state === 'gathering' &&
        each.group === group &&
        each.lane === lane &&
        each.model === model,
    );
    if (batch?.state === 'gathering' && batch.bytes + bytes > limits.bytes) {
      this.#batches.set(batch.batchId, { ...batch, state: 'closed' });
      batch = undefined;
    }
    const batchId = batch?.batchId ?? call.callId;
    const callCount = (batch?.callCount ?? 0) + 1;
    const state = callCount < limits.requestCount ? 'gathering' : 'closed';
    const all = (batch?.bytes ?? 0) + bytes;
    const { enteredAtMs } = call;
    const counts = { callCount, bytes: all, enteredAtMs };
    const facts = { schemaVersion: 1, batchId, group, lane, model, ...counts } as const;
    this.#batches.set(batchId, { ...facts, state });
    const waiting: WaitingCall = { ...call, state: 'waiting', batchId };
    this.#calls.set(name, waiting);
    return waiting;
  }

  async findCall(cell: CellKey, step: string): Promise<BatchedCall | undefined> {
    return this.#calls.get(nameOf(cell, step));
  }

  async readCalls(
    batchId: string,
    callIds: readonly string[],
  ): Promise<ReadonlyMap<string, BatchedCall>> {
    const wanted = this.#callsOf(batchId).filter(({ callId }) => callIds.includes(callId));
    return new Map(wanted.map((call) => [call.callId, call]));
  }

  async *listCalls(batchId: string): AsyncIterable<BatchedCall> {
    yield* this.#callsOf(batchId).toSorted((a, b) => (a.callId < b.callId ? -1 : 1));
  }

  async endCalls(ended: readonly BatchedCall[]): Promise<void> {
    for (const call of ended) {
      const stored = this.#calls.get(nameOf(call.cell, call.place.step));
      if (stored?.callId === call.callId && stored.state === 'waiting')
        this.#calls.set(nameOf(call.cell, call.place.step), call);
    }
  }

  async removeCalls(calls: readonly BatchedCall[]): Promise<void> {
    for (const { cell, place, callId } of calls) {
      const name = nameOf(cell, place.step);
      if (this.#calls.get(name)?.callId === callId) this.#calls.delete(name);
    }
  }

  async list(group: string): Promise<readonly Batch[]> {
    return [...this.#batches.values()].filter((batch) => batch.group === group);
  }

  async replace(existing: Batch, batch: Batch): Promise<boolean> {
    const stored = this.#batches.get(batch.batchId);
    if (isDeepStrictEqual(stored, batch)) return true;
    if (!isDeepStrictEqual(stored, existing)) return false;
    this.#batches.set(batch.batchId, batch);
    return true;
  }

  async remove({ batchId }: Batch): Promise<void> {
    this.#batches.delete(batchId);
  }

  #callsOf(batchId: string): readonly BatchedCall[] {
    return [...this.#calls.values()].filter((call) => call.batchId === batchId);
  }
}

function nameOf({ run, config, id }: CellKey, step: string): string {
  return JSON.stringify([run, config, id, step]);
}
