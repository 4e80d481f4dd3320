import {
  advanceBatch,
  type BatchWorker,
  type CellTask,
  executeCell,
  Heartbeat,
  LaneHealth,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aBenchmark, aCellKey, aLane, anError } from '../../support/builders.ts';
import { FakeBatchClient } from '../../support/fake-batch-client.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { checkInterleavings, type Interleaving, Turns } from '../../support/interleavings.ts';
import { type LocalStores, openLocalStores } from '../../support/local-stores.ts';

const lane = aLane({ batch: { otherwise: 'batch' } });
const benchmark = aBenchmark({ lanes: new Map([['lab', lane]]) });

/** What becomes of the calls in a batch. */
const ends = {
  answered: () => new FakeBatchClient(),
  expired: () => {
    const vendor = new FakeBatchClient();
    vendor.resultOf = (customId) => ({ customId, kind: 'expired' });
    return vendor;
  },
  'refused with their batch': () => {
    const vendor = new FakeBatchClient();
    const problem = anError('model-unavailable');
    vendor.poll = async () => ({ kind: 'ended', problem });
    return vendor;
  },
};
type End = keyof typeof ends;

/** Groups of one cell each, in one file, that two processes work on while a third one sends their batches. */
class Groups implements Disposable {
  readonly #engine = new FakeEngine({ benchmark });
  readonly #stores: LocalStores;
  /** After how many steps readers have died. */
  deathCount = 0;
  #task: CellTask | undefined;
  #count = 0;

  constructor() {
    this.#stores = openLocalStores(':memory:', this.#engine.clock);
  }

  async open(end: End, readerLifetime: number): Promise<Interleaving> {
    this.#count += 1;
    const group = `g${this.#count}`;
    const engine = this.#engine;
    this.#task ??= (await engine.deliver()).task;
    await this.#stores
      .queueOf('planner', group)
      .send('lab', [{ ...this.#task, run: `${group}-r1` }]);
    const vendor = ends[end]();
    const cell = async (turns: Turns) => void (await this.#workOn(group, turns));
    return {
      workers: { cell, other: cell, reader: (turns) => this.#read(group, turns, vendor) },
      lifetimes: { reader: readerLifetime },
      check: async (history) => {
        if (history.some((step) => step.startsWith('reader dies'))) {
          this.deathCount = readerLifetime + 1;
          await new Turns('next').run((turns) => this.#read(group, turns, vendor));
        }
        await this.#check(group, history.join(', '), end);
        expect(vendor.billed).toHaveLength(end === 'answered' ? 1 : 0);
      },
    };
  }

  /** Works on the cell if its task is visible. */
  async #workOn(group: string, turns: Turns): Promise<boolean> {
    const { ledger, batches } = this.#stores;
    const owner = turns.name;
    const queue = turns.watch(this.#stores.queueOf(owner, group), [
      'receive',
      'release',
      'acknowledge',
    ]);
    const [delivery] = await queue.receive('lab', 1);
    if (delivery === undefined) return false;
    const settlement = await executeCell(delivery, {
      ...this.#engine.worker,
      owner,
      ledger: turns.watch(ledger, ['readJournal']),
      batches: turns.watch(batches, ['findCall', 'enter']),
      heartbeat: new Heartbeat({ ledger, queue, clock: this.#engine.clock, owner }),
    });
    if (settlement.kind === 'acknowledge') await queue.acknowledge(delivery);
    else await queue.release(delivery, settlement.delayMs);
    return true;
  }

  /** Takes the first batch as far as it goes, once it is there. */
  async #read(group: string, turns: Turns, vendor: FakeBatchClient): Promise<void> {
    const { batches, ledger } = this.#stores;
    const { clock } = this.#engine;
    const queue = turns.watch(this.#stores.queueOf('reader', group), ['wake']);
    const worker: BatchWorker = {
      ...{ owner: 'reader', benchmark, clock, budget: undefined, observe: () => undefined },
      laneHealth: new LaneHealth({ clock, random: () => 0 }),
      ledger: turns.watch(ledger, ['commitCall']),
      batches: turns.watch(batches, ['endCalls', 'removeCalls', 'remove']),
      batchClientFor: () => vendor,
      wake: async (ended) => await queue.wake(ended.map(({ cell }) => cell)),
      isGone: () => false,
      roundMs: 0,
    };
    const rows = this.#stores.database.prepare('SELECT 1 FROM batches WHERE group_name = ?');
    await turns.step('send', () => rows.get(group) !== undefined);
    const [first] = await batches.list(group);
    if (first?.state === 'gathering') await batches.replace(first, { ...first, state: 'closed' });
    // Sent, and recorded.
    for (const _ of ['closed', 'accepted']) {
      const due = (await batches.list(group)).find(({ batchId }) => batchId === first?.batchId);
      if (due !== undefined) await advanceBatch(due, worker, new AbortController().signal);
    }
  }

  /** Whatever was still to be done for the cell is done now, with no time passing. */
  async #check(group: string, history: string, end: End): Promise<void> {
    const { ledger, batches } = this.#stores;
    const run = `${group}-r1`;
    await new Turns('last').run(async (turns) => {
      while (await this.#workOn(group, turns));
    });
    const { result } = (await ledger.readCells(run, 'direct', ['q1'])).get('q1') ?? {};
    const call = await batches.findCall(aCellKey({ run }), 'answer');
    const open = (await batches.list(group)).map(({ batchId }) => batchId);
    if (end === 'answered') expect([result?.outcome, open], history).toEqual(['scored', []]);
    // In the next batch.
    else expect([call?.state, open], history).toEqual(['waiting', [call?.batchId]]);
  }

  [Symbol.dispose](): void {
    this.#stores[Symbol.dispose]();
  }
}

describe('the task of a cell in a batch', () => {
  it.each(Object.keys(ends) as End[])(
    'is due at once in every order of enter, wait, record and wake, whichever step is the last of its reader: %s',
    async (end) => {
      using groups = new Groups();
      let count = 0;

      for (let lifetime = 0; lifetime === groups.deathCount; lifetime += 1)
        count = await checkInterleavings(() => groups.open(end, lifetime));

      expect(groups.deathCount).toBeGreaterThan(2);
      expect(count).toBeGreaterThan(100);
    },
  );
});
