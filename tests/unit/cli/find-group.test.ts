import { describe, expect, it } from 'vitest';
import { findGroup, findRuns, newestGroup } from '../../../packages/cli/src/engine/find-group.ts';
import { aGroupHeader } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';

/** A ledger with the groups `gold-1`, `gold-2` and `gold-20`, oldest first, all labelled `gold`. */
async function openLedger(): Promise<FakeLedger> {
  const ledger = new FakeLedger(new FakeClock());
  for (const [index, group] of ['gold-1', 'gold-2', 'gold-20'].entries()) {
    const createdAt = `2026-01-0${index + 1}T00:00:00.000Z`;
    const runs = [`${group}-r1`, `${group}-r2`];
    await ledger.createGroup(aGroupHeader({ group, label: 'gold', createdAt, runs }));
  }
  return ledger;
}

describe('the name of a group', () => {
  it.each([
    ['gold-2', 'gold-2', 'the whole name of one of two groups that begin with it'],
    ['gold-20', 'gold-20', 'a whole name'],
    ['gold', 'gold-20', 'the label of the newest'],
  ])('%s finds %s: %s', async (name, group) => {
    const { header } = await findGroup(await openLedger(), name);

    expect(header.group).toBe(group);
  });

  it('may be a prefix of one group, not of several', async () => {
    const ledger = await openLedger();
    await ledger.createGroup(aGroupHeader({ group: 'silver-1', label: 'silver' }));

    const { header } = await findGroup(ledger, 'silv');
    const several = findGroup(ledger, 'gold-');

    expect(header.group).toBe('silver-1');
    await expect(several).rejects.toMatchObject({
      code: 'unknown-group',
      message:
        '"gold-": expected a unique prefix, received one of 3 groups: gold-20, gold-2, gold-1; use a longer one',
    });
  });

  it('is refused while the group is being deleted, also by the name of a run', async () => {
    const ledger = await openLedger();
    await ledger.setGroupState('gold-2', 'deleting');
    const refusal = {
      code: 'unknown-group',
      message: 'gold-2: it is being deleted; next: thrice delete gold-2 --stage dev',
    };

    await expect(findGroup(ledger, 'gold-2', ' --stage dev')).rejects.toMatchObject(refusal);
    await expect(findRuns(ledger, 'gold-2-r1', ' --stage dev')).rejects.toMatchObject(refusal);
  });

  it('that is unknown is corrected where one is close', async () => {
    const finding = findGroup(await openLedger(), 'gald-1', ' --stage dev');

    await expect(finding).rejects.toMatchObject({
      code: 'unknown-group',
      message:
        '"gald-1": no group has this name, prefix or label; did you mean "gold-1"?; "thrice ls --stage dev" lists all groups',
    });
  });
});

describe('the name of a run', () => {
  it('finds that run alone, and the name of a group all of its runs', async () => {
    const ledger = await openLedger();

    const one = await findRuns(ledger, 'gold-2-r2');
    const all = await findRuns(ledger, 'gold-2');

    expect([one.group.header.group, one.runs]).toEqual(['gold-2', ['gold-2-r2']]);
    expect([all.group.header.group, all.runs]).toEqual(['gold-2', ['gold-2-r1', 'gold-2-r2']]);
  });
});

describe('the newest group', () => {
  it('is the one created last', async () => {
    const { header } = await newestGroup(await openLedger());

    expect(header.group).toBe('gold-20');
  });

  it('is missing in an empty store', async () => {
    const finding = newestGroup(new FakeLedger(new FakeClock()));

    await expect(finding).rejects.toMatchObject({ code: 'unknown-group' });
  });
});
