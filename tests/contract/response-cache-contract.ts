import {
  type CellStep,
  type Ledger,
  limits,
  type ResponseCache,
  type SharedCall,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import {
  aCellKey,
  aCellResult,
  aFailedResult,
  aJournalEntry,
  anAcceptedSubmission,
  anAnnouncedSubmission,
} from '../support/builders.ts';
import { collect } from '../support/collect.ts';
import { FakeClock } from '../support/fake-clock.ts';

/** A fresh, empty cache and the ledger whose calls it shares. */
export interface ResponseCacheUnderTest extends AsyncDisposable {
  readonly responseCache: ResponseCache;
  /** The same cache, accessed by another process. */
  readonly other: ResponseCache;
  readonly ledger: Ledger;
}

/** Opens a fresh, empty cache that uses the given clock. */
export type OpenResponseCache = (clock: FakeClock) => Promise<ResponseCacheUnderTest>;

const call: SharedCall = {
  run: 'demo-r1',
  config: null,
  fingerprint: 'a'.repeat(64),
  sample: 0,
};
const granted = { kind: 'granted' };

function stepOf(config: string, step = 'answer'): CellStep {
  return { ...aCellKey({ config }), step };
}

const [first, second, third] = [stepOf('a'), stepOf('b'), stepOf('c')];

/** Tests every promise of the `ResponseCache` port. */
export function describeResponseCacheContract(name: string, openCache: OpenResponseCache): void {
  const open = async () => {
    const clock = new FakeClock();
    const store = await openCache(clock);
    for (const step of [first, second, third]) await store.ledger.claimCell(step, 0, step.config);
    return { ...store, clock };
  };

  describe(`ResponseCache contract: ${name}`, () => {
    it('grants a call to whoever claims it first', async () => {
      await using store = await open();

      expect(await store.responseCache.claimCall(call, first)).toEqual(granted);
    });

    it('says since when another cell is about to buy it', async () => {
      await using store = await open();
      const sinceMs = store.clock.now();
      await store.responseCache.claimCall(call, first);
      store.clock.advance(1_000);

      expect(await store.other.claimCall(call, second)).toEqual({ kind: 'held', sinceMs });
    });

    it('grants a call to one of many cells that claim it at the same instant', async () => {
      await using store = await open();
      const steps = Array.from({ length: 12 }, (_, index) => stepOf(`config-${index}`));
      for (const step of steps) await store.ledger.claimCell(step, 0, step.config);

      const claims = await Promise.all(
        steps.map((step, index) =>
          (index % 2 === 0 ? store.responseCache : store.other).claimCall(call, step),
        ),
      );

      const kinds = claims.map(({ kind }) => kind).toSorted();
      expect(kinds).toEqual(['granted', ...Array.from({ length: 11 }, () => 'held')]);
    });

    it.each([
      ['run', { run: 'demo-r2' }],
      ['request', { fingerprint: 'b'.repeat(64) }],
      ['sample', { sample: 1 }],
      ['config', { config: 'a' }],
    ])('tells calls apart by their %s', async (_, other) => {
      await using store = await open();
      await store.responseCache.claimCall(call, first);

      expect(await store.responseCache.claimCall({ ...call, ...other }, second)).toEqual(granted);
    });

    it('returns the entry in the journal of its buyer once that is written', async () => {
      await using store = await open();
      const entry = aJournalEntry({ text: '42', call: { costUsd: 0.25 } });
      await store.responseCache.claimCall(call, first);
      await store.ledger.commitCall(first, entry);

      const claims = [
        await store.other.claimCall(call, second),
        await store.responseCache.claimCall(call, third),
      ];

      const bought = { kind: 'bought', buyer: first, entry };
      expect(claims).toEqual([bought, bought]);
    });

    it('returns it whatever has become of the buyer since', async () => {
      await using store = await open();
      const entry = aJournalEntry();
      await store.responseCache.claimCall(call, first);
      await store.ledger.commitCall(first, entry);
      await store.ledger.completeCell(first, 'a', aCellResult(), []);
      store.clock.advance(limits.leaseMs + 1);

      const claim = await store.other.claimCall(call, second);

      expect(claim).toEqual({ kind: 'bought', buyer: first, entry });
    });

    it('does not return a discarded call, nor that of another step', async () => {
      await using store = await open();
      await store.responseCache.claimCall(call, first);
      const discarded = aJournalEntry({ call: { discarded: 'truncated-response' } });
      await store.ledger.commitCall(first, discarded);
      await store.ledger.commitCall(first, aJournalEntry({ step: 'judge' }));

      expect(await store.other.claimCall(call, second)).toMatchObject({ kind: 'held' });
    });

    it('returns a call of any size', async () => {
      await using store = await open();
      const entry = aJournalEntry({ text: 'x'.repeat(500_000) });
      await store.responseCache.claimCall(call, first);
      await store.ledger.commitCall(first, entry);

      const claim = await store.other.claimCall(call, second);

      expect(claim).toEqual({ kind: 'bought', buyer: first, entry });
    });

    it('grants a call again to the step that has it, and to no other', async () => {
      await using store = await open();
      await store.responseCache.claimCall(call, first);

      expect(await store.other.claimCall(call, first)).toEqual(granted);
      expect(await store.responseCache.claimCall(call, second)).toMatchObject({ kind: 'held' });
    });

    it('keeps a call for a buyer whose lease is extended', async () => {
      await using store = await open();
      await store.responseCache.claimCall(call, first);
      store.clock.advance(limits.leaseMs - 1);
      await store.ledger.extendLeases([first], 'a');
      store.clock.advance(limits.leaseMs - 1);

      expect(await store.other.claimCall(call, second)).toMatchObject({ kind: 'held' });
    });

    it('grants a call to the next once the lease of its buyer has expired', async () => {
      await using store = await open();
      await store.responseCache.claimCall(call, first);
      store.clock.advance(limits.leaseMs + 1);
      await store.ledger.extendLeases([second, third], 'b');
      await store.ledger.claimCell(second, 0, 'b');
      await store.ledger.claimCell(third, 0, 'c');

      expect(await store.other.claimCall(call, second)).toEqual(granted);
      expect(await store.responseCache.claimCall(call, first)).toMatchObject({ kind: 'held' });
    });

    it.each(['released', 'failed'])(
      'grants a call to the next once its buyer has %s',
      async (how) => {
        await using store = await open();
        await store.responseCache.claimCall(call, first);
        if (how === 'released') await store.ledger.releaseCell(first, 'a', [], 1);
        else await store.ledger.completeCell(first, 'a', aFailedResult(), []);

        expect(await store.other.claimCall(call, second)).toEqual(granted);
        expect(await store.responseCache.claimCall(call, third)).toMatchObject({ kind: 'held' });
      },
    );

    it('grants a call to the next where the records of its buyer are deleted', async () => {
      await using store = await open();
      await store.responseCache.claimCall(call, stepOf('gone'));

      expect(await store.other.claimCall(call, second)).toEqual(granted);
    });

    it('grants a call to either its returning buyer or the next, never to both', async () => {
      await using store = await open();
      await store.responseCache.claimCall(call, first);
      await store.ledger.releaseCell(first, 'a', [], 1);
      await store.ledger.claimCell(first, 0, 'a');

      const claims = await Promise.all([
        store.responseCache.claimCall(call, first),
        store.other.claimCall(call, second),
        store.responseCache.claimCall(call, third),
      ]);

      expect(claims.filter(({ kind }) => kind === 'granted')).toHaveLength(1);
    });

    it('keeps a call for a buyer that has released its cell until its response comes in the background', async () => {
      await using store = await open();
      await store.responseCache.claimCall(call, first);
      await store.ledger.replaceSubmission(first, undefined, anAcceptedSubmission());
      await store.ledger.releaseCell(first, 'a', [], 0);

      expect(await store.other.claimCall(call, second)).toMatchObject({ kind: 'held' });
    });

    it('grants a call whose buyer has died before the vendor accepted its submission', async () => {
      await using store = await open();
      await store.responseCache.claimCall(call, first);
      await store.ledger.replaceSubmission(first, undefined, anAnnouncedSubmission());
      await store.ledger.releaseCell(first, 'a', [], 0);

      expect(await store.other.claimCall(call, second)).toEqual(granted);
    });

    it('finds the first of some calls that is bought, without a claim for any', async () => {
      await using store = await open();
      const own = { ...call, config: 'c' };
      const entry = aJournalEntry();
      await store.ledger.commitCall(second, entry);
      await store.responseCache.addEntries([
        { call: own, buyer: first },
        { call, buyer: second },
      ]);

      expect(await store.other.findCall([own, call])).toEqual({ buyer: second, entry });
      await store.ledger.commitCall(first, entry);
      expect(await store.other.findCall([own, call])).toEqual({ buyer: first, entry });
      expect(await store.other.findCall([{ ...call, sample: 1 }])).toBeUndefined();
      expect(await store.responseCache.claimCall({ ...call, sample: 1 }, third)).toEqual(granted);
    });

    it('keeps what it has of a call that is entered again', async () => {
      await using store = await open();
      const entry = aJournalEntry();
      await store.ledger.commitCall(first, entry);
      await store.ledger.commitCall(second, aJournalEntry({ text: 'other' }));
      await store.responseCache.addEntries([{ call, buyer: first }]);

      await store.other.addEntries([{ call, buyer: second }]);

      expect(await store.responseCache.findCall([call])).toEqual({ buyer: first, entry });
    });

    it('returns a call that was entered to whoever claims it', async () => {
      await using store = await open();
      const entry = aJournalEntry();
      await store.ledger.commitCall(first, entry);
      await store.responseCache.addEntries([{ call, buyer: first }]);

      expect(await store.other.claimCall(call, second)).toEqual({
        kind: 'bought',
        buyer: first,
        entry,
      });
    });

    it('lists what the cells of a config in a run have bought, but not what is discarded', async () => {
      await using store = await open();
      const ids = Array.from({ length: 40 }, (_, index) => `q${index}`);
      for (const id of ids) {
        const fingerprint = id.padEnd(64, 'f');
        await store.ledger.commitCall({ ...first, id }, aJournalEntry({ fingerprint, sample: 1 }));
      }
      const discarded = aJournalEntry({ step: 'judge', call: { discarded: 'truncated-response' } });
      await store.ledger.commitCall(first, discarded);
      for (const other of [second, { ...first, run: 'demo-r10' }])
        await store.ledger.commitCall(other, aJournalEntry());

      const listed = await collect(store.other.listResponses(first.run, first.config));

      const byId = listed.toSorted((left, right) => (left.buyer.id < right.buyer.id ? -1 : 1));
      expect(byId).toEqual(
        ids.toSorted().map((id) => ({
          fingerprint: id.padEnd(64, 'f'),
          sample: 1,
          buyer: { ...first, id },
          place: expect.any(String) as string,
        })),
      );
    });

    it('continues a list behind any of its calls, also for another process', async () => {
      await using store = await open();
      for (const id of Array.from({ length: 40 }, (_, index) => `q${index}`)) {
        for (const step of ['answer', 'judge'])
          await store.ledger.commitCall({ ...first, id }, aJournalEntry({ step }));
      }
      const all = await collect(store.responseCache.listResponses(first.run, first.config));

      const rests = await Promise.all(
        all.map(({ place }) => collect(store.other.listResponses(first.run, first.config, place))),
      );

      expect(all).toHaveLength(80);
      expect(rests).toEqual(all.map((_, index) => all.slice(index + 1)));
    });
  });
}
