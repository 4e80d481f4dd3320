import type { Parked, Watchlist } from '@thrice/core';
import { describe, expect, it } from 'vitest';

/** A fresh, empty watchlist. */
export interface WatchlistUnderTest extends AsyncDisposable {
  readonly watchlist: Watchlist;
  /** The same store as another process sees it. */
  readonly other: Watchlist;
}

/** Makes a fresh, empty watchlist. */
export type OpenWatchlist = () => Promise<WatchlistUnderTest>;

/** What the `Watchlist` port promises, sentence by sentence. */
export function describeWatchlistContract(name: string, openWatchlist: OpenWatchlist): void {
  describe(`Watchlist contract: ${name}`, () => {
    describeWatched(openWatchlist);
    describeParked(openWatchlist);
  });
}

function describeWatched(openWatchlist: OpenWatchlist): void {
  describe('watched groups', () => {
    it('are none at first', async () => {
      await using store = await openWatchlist();

      expect(await store.watchlist.listWatched()).toEqual([]);
    });

    it('are listed once each, however often they were watched', async () => {
      await using store = await openWatchlist();

      for (const group of ['b', 'a', 'b']) await store.watchlist.watch(group);

      expect(await groupsOf(store.other)).toEqual(['a', 'b']);
    });

    it('leave the list, the others stay', async () => {
      await using store = await openWatchlist();
      for (const group of ['a', 'b']) await store.watchlist.watch(group);

      await unwatch(store.other, 'a');

      expect(await groupsOf(store.watchlist)).toEqual(['b']);
    });

    it('may leave the list twice', async () => {
      await using store = await openWatchlist();
      await store.watchlist.watch('a');
      const [watched] = await store.watchlist.listWatched();
      if (watched === undefined) throw new Error('expected a watched group');

      await store.watchlist.unwatch(watched);
      await store.other.unwatch(watched);

      expect(await store.other.listWatched()).toEqual([]);
    });

    it('stay when they were watched anew meanwhile', async () => {
      await using store = await openWatchlist();
      await store.watchlist.watch('a');
      const [before] = await store.watchlist.listWatched();
      if (before === undefined) throw new Error('expected a watched group');

      await store.other.watch('a');
      await store.watchlist.unwatch(before);

      expect(await groupsOf(store.other)).toEqual(['a']);
      await unwatch(store.other, 'a');
      expect(await store.other.listWatched()).toEqual([]);
    });

    it('come back when they are watched again', async () => {
      await using store = await openWatchlist();
      await store.watchlist.watch('a');
      const [before] = await store.watchlist.listWatched();
      await unwatch(store.watchlist, 'a');

      await store.watchlist.watch('a');

      const [after] = await store.other.listWatched();
      expect(after?.group).toBe('a');
      expect(after?.token).not.toBe(before?.token);
    });
  });
}

function describeParked(openWatchlist: OpenWatchlist): void {
  describe('parked cells', () => {
    it('are none at first', async () => {
      await using store = await openWatchlist();

      expect(await store.watchlist.listParked()).toEqual([]);
    });

    it('are listed once a subject and group, however many they are', async () => {
      await using store = await openWatchlist();
      const pairs = [
        ['lab', 'a'],
        ['lab/m', 'a'],
        ['lab', 'b'],
        ['lab', 'a'],
        // Models have names of any form.
        ['hub/org/m#1:free é', 'a'],
      ] as const;

      for (const [subject, group] of pairs) await store.watchlist.park(subject, group);

      expect(await pairsOf(store.other)).toEqual([
        'a hub/org/m#1:free é',
        'a lab',
        'a lab/m',
        'b lab',
      ]);
    });

    it('leave the list, the others stay', async () => {
      await using store = await openWatchlist();
      await store.watchlist.park('lab', 'a');
      await store.watchlist.park('lab', 'b');
      await store.watchlist.park('lab/m', 'a');

      await store.other.unpark(await parkedOf(store.other, 'lab', 'a'));

      expect(await pairsOf(store.watchlist)).toEqual(['a lab/m', 'b lab']);
    });

    it('may leave the list twice', async () => {
      await using store = await openWatchlist();
      await store.watchlist.park('lab', 'a');
      const parked = await parkedOf(store.watchlist, 'lab', 'a');

      await store.watchlist.unpark(parked);
      await store.other.unpark(parked);

      expect(await store.other.listParked()).toEqual([]);
    });

    it('stay when more were parked meanwhile', async () => {
      await using store = await openWatchlist();
      await store.watchlist.park('lab', 'a');
      const before = await parkedOf(store.watchlist, 'lab', 'a');

      await store.other.park('lab', 'a');
      await store.watchlist.unpark(before);

      expect(await pairsOf(store.other)).toEqual(['a lab']);
      await store.other.unpark(await parkedOf(store.other, 'lab', 'a'));
      expect(await store.other.listParked()).toEqual([]);
    });

    it('are no watched groups', async () => {
      await using store = await openWatchlist();
      await store.watchlist.park('lab', 'a');
      await store.watchlist.watch('b');

      expect(await groupsOf(store.other)).toEqual(['b']);
      expect(await pairsOf(store.other)).toEqual(['a lab']);
    });
  });
}

async function groupsOf(watchlist: Watchlist): Promise<readonly string[]> {
  return (await watchlist.listWatched()).map(({ group }) => group).toSorted();
}

async function unwatch(watchlist: Watchlist, group: string): Promise<void> {
  for (const watched of await watchlist.listWatched()) {
    if (watched.group === group) await watchlist.unwatch(watched);
  }
}

async function pairsOf(watchlist: Watchlist): Promise<readonly string[]> {
  return (await watchlist.listParked())
    .map(({ subject, group }) => `${group} ${subject}`)
    .toSorted();
}

async function parkedOf(watchlist: Watchlist, subject: string, group: string): Promise<Parked> {
  const found = (await watchlist.listParked()).find(
    (parked) => parked.subject === subject && parked.group === group,
  );
  if (found === undefined) throw new Error(`expected ${group} to be parked at ${subject}`);
  return found;
}
