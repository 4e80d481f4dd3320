import {
  type BatchedCall,
  type Batches,
  CallBudget,
  type CellKey,
  executeCell,
  openBudget,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import {
  aBenchmark,
  aCellKey,
  aConfig,
  aGroupHeader,
  aJournalEntry,
  aLane,
} from '../../support/builders.ts';
import { FakeBatches } from '../../support/fake-batches.ts';
import { FakeBudgets } from '../../support/fake-budgets.ts';
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

/** Batches that another worker enters each call in just before. */
class EnteredMeanwhile extends FakeBatches {
  override async enter(...[group, call, limits]: Parameters<Batches['enter']>) {
    await super.enter(group, { ...call, callId: 'of another' }, limits);
    return await super.enter(group, call, limits);
  }
}

describe('a call in a batch', () => {
  it('is not reserved where another worker has entered it meanwhile', async () => {
    const lane = aLane({ batch: { otherwise: 'batch' } });
    const benchmark = aBenchmark({
      budgetUsd: 10_000,
      configs: [aConfig({ maxTokens: 10 })],
      lanes: new Map([['lab', lane]]),
      prices: new Map([['lab/m', { input: 1_000_000, output: 1_000_000, batch: 0.5 }]]),
    });
    const engine = new FakeEngine({ benchmark });
    const { clock, ledger } = engine;
    const budgets = new FakeBudgets(ledger, clock);
    await openBudget(aGroupHeader({ group: 'demo', runs: ['demo-r1'] }), benchmark, budgets);
    const base = { group: 'demo', owner: 'worker-1', observe: () => undefined };
    const budget = new CallBudget({ ...base, benchmark, budgets, clock });
    const batches = new EnteredMeanwhile();

    const settlement = await executeCell(await engine.deliver(), {
      ...engine.worker,
      batches,
      budget,
    });

    expect(settlement).toMatchObject({ kind: 'release', isBatched: true });
    expect(await batches.findCall(aCellKey(), 'answer')).toMatchObject({ callId: 'of another' });
    expect(await budgets.listOpen('demo')).toEqual([]);
    expect(await budgets.listKept('demo')).toEqual([]);
    const [account] = await budgets.readAccounts('demo');
    expect([account?.spentNanoUsd, account?.reservedNanoUsd]).toEqual([0, 0]);
  });

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
