import { type BatchedCall, type CellKey, executeCell } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aBenchmark, aCellKey, aJournalEntry, aLane } from '../../support/builders.ts';
import { FakeBatches } from '../../support/fake-batches.ts';
import { FakeEngine } from '../../support/fake-engine.ts';

/** Batches of which others record an answer just before a cell looks for its call. */
class RecordedMeanwhile extends FakeBatches {
  readonly #record: (call: BatchedCall) => Promise<void>;

  constructor(record: (call: BatchedCall) => Promise<void>) {
    super();
    this.#record = record;
  }

  override async findCall(cell: CellKey, step: string): Promise<BatchedCall | undefined> {
    const call = await super.findCall(cell, step);
    if (call !== undefined) {
      await this.#record(call);
      await this.removeCalls([call]);
    }
    return await super.findCall(cell, step);
  }
}

describe('a call in a batch', () => {
  it('is not bought again where its answer is recorded while its cell begins', async () => {
    const lane = aLane({ batch: { otherwise: 'batch' } });
    const engine = new FakeEngine({ benchmark: aBenchmark({ lanes: new Map([['lab', lane]]) }) });
    const batches = new RecordedMeanwhile(async ({ callId }) => {
      await engine.ledger.commitCall(aCellKey(), aJournalEntry({ callId, text: '42' }));
    });
    const worker = { ...engine.worker, batches };
    const delivery = await engine.deliver();

    const first = await executeCell(delivery, worker);
    const second = await executeCell(delivery, worker);

    expect(first).toMatchObject({ kind: 'release', isBatched: true });
    expect(second).toEqual({ kind: 'acknowledge' });
    expect((await batches.list('demo')).map(({ state }) => state)).toEqual(['gathering']);
    expect(engine.ledger.cell(aCellKey())?.result).toMatchObject({ outcome: 'scored' });
    expect(engine.models.requests).toEqual([]);
  });
});
