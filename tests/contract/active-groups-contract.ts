import type { ActiveGroups, DeferredCells } from '@thrice/core';
import { describe, expect, it } from 'vitest';

/** A fresh, empty list of active groups. */
export interface ActiveGroupsUnderTest extends AsyncDisposable {
  readonly activeGroups: ActiveGroups;
  /** The same store as another process sees it. */
  readonly other: ActiveGroups;
}

/** Makes a fresh, empty list of active groups. */
export type OpenActiveGroups = () => Promise<ActiveGroupsUnderTest>;

/** What the `ActiveGroups` port promises, sentence by sentence. */
export function describeActiveGroupsContract(
  name: string,
  openActiveGroups: OpenActiveGroups,
): void {
  describe(`ActiveGroups contract: ${name}`, () => {
    describeActive(openActiveGroups);
    describeDeferred(openActiveGroups);
  });
}

function describeActive(openActiveGroups: OpenActiveGroups): void {
  describe('watched groups', () => {
    it('are none at first', async () => {
      await using store = await openActiveGroups();

      expect(await store.activeGroups.list()).toEqual([]);
    });

    it('are listed once each, however often they were watched', async () => {
      await using store = await openActiveGroups();

      for (const group of ['b', 'a', 'b']) await store.activeGroups.add(group);

      expect(await groupsOf(store.other)).toEqual(['a', 'b']);
    });

    it('leave the list, the others stay', async () => {
      await using store = await openActiveGroups();
      for (const group of ['a', 'b']) await store.activeGroups.add(group);

      await remove(store.other, 'a');

      expect(await groupsOf(store.activeGroups)).toEqual(['b']);
    });

    it('may leave the list twice', async () => {
      await using store = await openActiveGroups();
      await store.activeGroups.add('a');
      const [activeGroup] = await store.activeGroups.list();
      if (activeGroup === undefined) throw new Error('expected a watched group');

      await store.activeGroups.remove(activeGroup);
      await store.other.remove(activeGroup);

      expect(await store.other.list()).toEqual([]);
    });

    it('stay when they were watched anew meanwhile', async () => {
      await using store = await openActiveGroups();
      await store.activeGroups.add('a');
      const [before] = await store.activeGroups.list();
      if (before === undefined) throw new Error('expected a watched group');

      await store.other.add('a');
      await store.activeGroups.remove(before);

      expect(await groupsOf(store.other)).toEqual(['a']);
      await remove(store.other, 'a');
      expect(await store.other.list()).toEqual([]);
    });

    it('come back when they are watched again', async () => {
      await using store = await openActiveGroups();
      await store.activeGroups.add('a');
      const [before] = await store.activeGroups.list();
      await remove(store.activeGroups, 'a');

      await store.activeGroups.add('a');

      const [after] = await store.other.list();
      expect(after?.group).toBe('a');
      expect(after?.token).not.toBe(before?.token);
    });
  });
}

function describeDeferred(openActiveGroups: OpenActiveGroups): void {
  describe('deferred cells', () => {
    it('are none at first', async () => {
      await using store = await openActiveGroups();

      expect(await store.activeGroups.listDeferred()).toEqual([]);
    });

    it('are listed once a subject and group, however many they are', async () => {
      await using store = await openActiveGroups();
      const pairs = [
        ['lab', 'a'],
        ['lab/m', 'a'],
        ['lab', 'b'],
        ['lab', 'a'],
        // Models have names of any form.
        ['hub/org/m#1:free é', 'a'],
      ] as const;

      for (const [breakerKey, group] of pairs) await store.activeGroups.defer(breakerKey, group);

      expect(await pairsOf(store.other)).toEqual([
        'a hub/org/m#1:free é',
        'a lab',
        'a lab/m',
        'b lab',
      ]);
    });

    it('leave the list, the others stay', async () => {
      await using store = await openActiveGroups();
      await store.activeGroups.defer('lab', 'a');
      await store.activeGroups.defer('lab', 'b');
      await store.activeGroups.defer('lab/m', 'a');

      await store.other.removeDeferred(await deferredOf(store.other, 'lab', 'a'));

      expect(await pairsOf(store.activeGroups)).toEqual(['a lab/m', 'b lab']);
    });

    it('may leave the list twice', async () => {
      await using store = await openActiveGroups();
      await store.activeGroups.defer('lab', 'a');
      const deferred = await deferredOf(store.activeGroups, 'lab', 'a');

      await store.activeGroups.removeDeferred(deferred);
      await store.other.removeDeferred(deferred);

      expect(await store.other.listDeferred()).toEqual([]);
    });

    it('stay when more were deferred meanwhile', async () => {
      await using store = await openActiveGroups();
      await store.activeGroups.defer('lab', 'a');
      const before = await deferredOf(store.activeGroups, 'lab', 'a');

      await store.other.defer('lab', 'a');
      await store.activeGroups.removeDeferred(before);

      expect(await pairsOf(store.other)).toEqual(['a lab']);
      await store.other.removeDeferred(await deferredOf(store.other, 'lab', 'a'));
      expect(await store.other.listDeferred()).toEqual([]);
    });

    it('are no watched groups', async () => {
      await using store = await openActiveGroups();
      await store.activeGroups.defer('lab', 'a');
      await store.activeGroups.add('b');

      expect(await groupsOf(store.other)).toEqual(['b']);
      expect(await pairsOf(store.other)).toEqual(['a lab']);
    });
  });
}

async function groupsOf(activeGroups: ActiveGroups): Promise<readonly string[]> {
  return (await activeGroups.list()).map(({ group }) => group).toSorted();
}

async function remove(activeGroups: ActiveGroups, group: string): Promise<void> {
  for (const activeGroup of await activeGroups.list()) {
    if (activeGroup.group === group) await activeGroups.remove(activeGroup);
  }
}

async function pairsOf(activeGroups: ActiveGroups): Promise<readonly string[]> {
  return (await activeGroups.listDeferred())
    .map(({ breakerKey, group }) => `${group} ${breakerKey}`)
    .toSorted();
}

async function deferredOf(
  activeGroups: ActiveGroups,
  breakerKey: string,
  group: string,
): Promise<DeferredCells> {
  const found = (await activeGroups.listDeferred()).find(
    (deferred) => deferred.breakerKey === breakerKey && deferred.group === group,
  );
  if (found === undefined) throw new Error(`expected ${group} to be deferred at ${breakerKey}`);
  return found;
}
