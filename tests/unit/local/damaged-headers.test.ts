import type { UnreadableGroup } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aGroupHeader } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { openLocalStores } from '../../support/local-stores.ts';

describe('a stored header that this version cannot read', () => {
  it.each([
    ['is no JSON', '{"group', 'received invalid JSON'],
    ['lacks a part', '{"group":"demo"}', 'received invalid schemaVersion, benchmark, label'],
    [
      'has a part of a newer version',
      JSON.stringify({ ...aGroupHeader(), schemaVersion: 2 }),
      'received invalid schemaVersion',
    ],
  ])('is reported with its group where it %s', async (_, header, problem) => {
    using stores = openLocalStores(':memory:', new FakeClock());
    const { ledger, database } = stores;
    await ledger.createGroup(aGroupHeader());
    await ledger.createGroup(aGroupHeader({ group: 'whole' }));
    database.prepare("UPDATE groups SET header = ? WHERE group_name = 'demo'").run(header);

    const expected = {
      code: 'store-unusable',
      message: `group demo: expected its header as this version writes it, ${problem}; it is damaged or was written by another version: use the version that wrote it, or another folder or stage`,
    };
    await expect(ledger.readGroup('demo')).rejects.toMatchObject(expected);
    await expect(ledger.listGroups()).rejects.toMatchObject(expected);
    expect(await ledger.readGroup('whole')).toMatchObject({ state: 'active' });
    const unreadable: UnreadableGroup[] = [];
    const listed = await ledger.listGroups((group) => unreadable.push(group));
    expect(listed.map((group) => group.header.group)).toEqual(['whole']);
    expect(unreadable).toMatchObject([
      { group: 'demo', createdAt: aGroupHeader().createdAt, error: expected },
    ]);
  });
});
