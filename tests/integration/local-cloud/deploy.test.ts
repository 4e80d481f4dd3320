import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { holdOrders } from './hold-orders.ts';
import { type DeliveryRecord, isRunning, openToyCloud, TOY, type ToyCloud } from './toy-cloud.ts';

describe.concurrent('a deployment while messages are in flight', { timeout: 60_000 }, () => {
  it('finishes current invocations on the old code and starts later ones on the new', async () => {
    await using toy = await openEditableToy();
    const { held } = toy;
    await toy.send([{ name: 'done' }, { name: 'busy' }]);
    await Promise.all([held.received('done'), held.received('busy')]);
    held.release('done');
    const done = await onlyDeliveryOf(toy, 'done');
    await waitUntil('its message is deleted', async () => (await toy.count('work')) === 1);

    await toy.change();
    await toy.cloud.deploy({ functionVariables: { TOY_EXTRA: 'new' } });
    await waitUntil('the idle environment has exited', () => !isRunning(done));
    await toy.send([{ name: 'later' }]);
    const later = await onlyDeliveryOf(toy, 'later');
    held.release('busy');
    await toy.untilEmpty();
    const busy = await onlyDeliveryOf(toy, 'busy');
    await waitUntil('the busy environment has exited', () => !isRunning(busy));

    expect([done, busy, later].map(summaryOf)).toEqual([
      { version: 'one', extra: 'old', receiveCount: 1 },
      { version: 'one', extra: 'old', receiveCount: 1 },
      { version: 'two', extra: 'new', receiveCount: 1 },
    ]);
    expect(isRunning(later)).toBe(true);
  });

  it('keeps the variables of the previous deployment by default', async () => {
    await using toy = await openEditableToy();
    await toy.change();

    await toy.cloud.deploy();
    await toy.send([{ name: 'later' }]);

    const expected = { version: 'two', extra: 'old', receiveCount: 1 };
    expect(summaryOf(await onlyDeliveryOf(toy, 'later'))).toEqual(expected);
  });

  it('keeps the old code when the new code cannot be built', async () => {
    await using toy = await openEditableToy();
    await toy.break();

    await expect(toy.cloud.deploy()).rejects.toThrow('Build failed');
    await toy.send([{ name: 'later' }]);

    const expected = { version: 'one', extra: 'old', receiveCount: 1 };
    expect(summaryOf(await onlyDeliveryOf(toy, 'later'))).toEqual(expected);
  });
});

/** Opens a toy stack whose function has its own copy of the source, which a test can change. */
async function openEditableToy() {
  const folder = await temporaryFolder();
  const source = folder.resolve('toy.mjs');
  await symlink(join(import.meta.dirname, '../../../node_modules'), folder.resolve('node_modules'));
  const text = await readFile(TOY, 'utf8');
  await writeFile(source, text);
  const held = holdOrders('done', 'busy');
  const toy = await openToyCloud(
    { source, maximumConcurrency: 2, visibilitySeconds: 60 },
    { intercept: held.intercept, functionVariables: { TOY_EXTRA: 'old' } },
  );
  return {
    ...toy,
    held,
    change: async () => await writeFile(source, text.replace("'one'", "'two'")),
    break: async () => await writeFile(source, 'export const ='),
    async [Symbol.asyncDispose]() {
      await toy[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

async function onlyDeliveryOf(toy: ToyCloud, name: string): Promise<DeliveryRecord> {
  await waitUntil(`${name} is recorded`, async () => (await toy.deliveriesOf(name)).length > 0);
  const [seen, ...more] = await toy.deliveriesOf(name);
  if (seen === undefined || more.length > 0)
    throw new Error(`expected one delivery of ${name}, received ${1 + more.length}`);
  return seen;
}

function summaryOf({ version, environment, receiveCount }: DeliveryRecord) {
  return { version, extra: environment['extra'], receiveCount };
}
