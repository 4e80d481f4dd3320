import {
  type CellKey,
  type CellStep,
  type GroupRecords,
  type Ledger,
  limits,
  type ResponseCache,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import {
  aCellKey,
  aCellResult,
  aGroupHeader,
  aJournalEntry,
  anAcceptedSubmission,
} from '../support/builders.ts';
import { collect } from '../support/collect.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** A fresh, empty store of records. */
export interface GroupRecordsUnderTest extends AsyncDisposable {
  readonly ledger: Ledger;
  readonly responseCache: ResponseCache;
  readonly records: GroupRecords;
}

/** Opens a fresh, empty store that uses the given clock. */
export type OpenGroupRecords = (clock: FakeClock) => Promise<GroupRecordsUnderTest>;

/** Tests every promise of the `GroupRecords` port. */
export function describeGroupRecordsContract(name: string, open: OpenGroupRecords): void {
  describe(`GroupRecords contract: ${name}`, () => {
    it('deletes the cells, calls, submissions and tally of a config in a run', async () => {
      await using store = await open(new FakeClock());
      await fill(store, aCellKey());

      const held = await store.records.deleteRecords('demo-r1', 'direct');

      expect(held).toBe(0);
      expect(await recordsOf(store, aCellKey())).toEqual(nothing);
    });

    it.each([
      ['run', aCellKey({ run: 'demo-r2' })],
      ['run whose name begins alike', aCellKey({ run: 'demo-r10' })],
      ['config', aCellKey({ config: 'cascade' })],
      ['config whose name begins alike', aCellKey({ config: 'direct2' })],
    ])('keeps the records of another %s', async (_, other) => {
      await using store = await open(new FakeClock());
      await fill(store, aCellKey());
      await fill(store, other);
      const before = await recordsOf(store, other);

      await store.records.deleteRecords('demo-r1', 'direct');

      expect(await recordsOf(store, other)).toEqual(before);
      expect(before).not.toEqual(nothing);
    });

    it('deletes more records than fit a page or request', async () => {
      await using store = await open(new FakeClock());
      const ids = Array.from({ length: 60 }, (_, index) => `q${index}`);
      for (const id of ids) await fill(store, aCellKey({ id }));

      const held = await store.records.deleteRecords('demo-r1', 'direct');

      expect(held).toBe(0);
      expect((await store.ledger.readCells('demo-r1', 'direct', ids)).size).toBe(0);
    });

    it('keeps a cell that a worker holds until its lease has ended', async () => {
      const clock = new FakeClock();
      await using store = await open(clock);
      const key = aCellKey();
      await store.ledger.claimCell(key, 0, 'worker-1');

      const heldCount = await store.records.deleteRecords('demo-r1', 'direct');
      const whileHeld = await store.ledger.extendLeases([key], 'worker-1');
      clock.advance(limits.leaseMs + 1);
      const leftCount = await store.records.deleteRecords('demo-r1', 'direct');

      expect([heldCount, whileHeld, leftCount]).toEqual([1, [], 0]);
      expect(await recordsOf(store, key)).toEqual(nothing);
    });

    it('deletes what the cells of a run share, and keeps that of other runs', async () => {
      await using store = await open(new FakeClock());
      const [buyer, next] = [stepOf('a'), stepOf('b')];
      const calls = ['demo-r1', 'demo-r10'].map((run) => ({
        run,
        config: null,
        fingerprint: 'f',
        sample: 0,
      }));
      const claimAll = async (step: CellStep) =>
        await Promise.all(
          calls.map(async (call) => await store.responseCache.claimCall(call, step)),
        );
      await store.ledger.claimCell(aCellKey({ config: 'a' }), 0, 'worker-1');
      await claimAll(buyer);

      await store.records.deleteResponseCache('demo-r1');

      expect(await claimAll(next)).toMatchObject([{ kind: 'granted' }, { kind: 'held' }]);
    });

    it('deletes the header of a group, also from the list', async () => {
      await using store = await open(new FakeClock());
      await store.ledger.createGroup(aGroupHeader({ group: 'demo' }));
      await store.ledger.createGroup(aGroupHeader({ group: 'demo2' }));

      await store.records.deleteHeader('demo');

      const listed = await store.ledger.listGroups();
      expect(listed.map(({ header }) => header.group)).toEqual(['demo2']);
      expect(await store.ledger.readGroup('demo')).toBeUndefined();
    });

    it('finds nothing to delete the second time', async () => {
      await using store = await open(new FakeClock());

      expect(await store.records.deleteRecords('demo-r1', 'direct')).toBe(0);
      await store.records.deleteHeader('demo');
    });
  });
}

const nothing = { cells: 0, calls: 0, discarded: 0, submissions: 0, tallied: 0 };

/** Stores every kind of record of a cell. */
async function fill({ ledger }: GroupRecordsUnderTest, key: CellKey): Promise<void> {
  await ledger.claimCell(key, 0, 'worker-1');
  await ledger.commitCall(key, aJournalEntry());
  await ledger.commitCall(key, aJournalEntry({ callId: 'call-2' }));
  await ledger.replaceSubmission(key, undefined, anAcceptedSubmission());
  await ledger.completeCell(key, 'worker-1', aCellResult(), []);
}

async function recordsOf(
  { ledger }: GroupRecordsUnderTest,
  key: CellKey,
): Promise<Readonly<Record<keyof typeof nothing, number>>> {
  const tallies = await ledger.readTallies(key.run);
  return {
    cells: (await ledger.readCells(key.run, key.config, [key.id])).size,
    calls: (await ledger.readJournal(key)).size,
    discarded: (await collect(ledger.listDiscardedCalls(key.run, key.config))).length,
    submissions: (await ledger.readSubmissions(key)).size,
    tallied: tallies
      .filter(({ config }) => config === key.config)
      .reduce((sum, { counts }) => sum + counts.scored, 0),
  };
}

function stepOf(config: string): CellStep {
  return { ...aCellKey({ config }), step: 'answer' };
}
