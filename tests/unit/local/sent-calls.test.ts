import { writeFile } from 'node:fs/promises';
import type { CallKey } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { readSentCalls, SentCalls } from '../../../packages/local/src/work/sent-calls.ts';
import { aCellKey } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts';

const group = 'demo';

function openNotes({ path: folder }: TemporaryFolder, callCount = 2): SentCalls {
  return new SentCalls({ folder, group, owner: 'worker', callCount, clock: new FakeClock() });
}

const callOf = (id: string): CallKey => ({
  cell: aCellKey({ id }),
  step: 'answer',
  callId: `worker ${id}`,
});
const idsOf = ({ path }: TemporaryFolder) =>
  readSentCalls(path, group, () => true).flatMap(({ calls }) => calls.map(({ id }) => id));

describe('the notes of the calls that a process has sent', () => {
  it('name the call and when it was sent, and survive the process', async () => {
    await using folder = await temporaryFolder();
    const clock = new FakeClock();
    const notes = openNotes(folder);

    notes.add(callOf('q1'));

    expect(readSentCalls(folder.path, group, () => true)).toEqual([
      {
        owner: 'worker',
        calls: [
          {
            ...aCellKey({ id: 'q1' }),
            step: 'answer',
            callId: 'worker q1',
            sentAt: clock.toIso(clock.now()),
          },
        ],
      },
    ]);
  });

  it('are forgotten of a call that has failed, and replaced in their place', async () => {
    await using folder = await temporaryFolder();
    const notes = openNotes(folder);

    notes.add(callOf('in flight'));
    notes.add(callOf('failed'));
    notes.forget(callOf('failed'));
    const afterFailure = idsOf(folder);
    for (let no = 0; no < 100; no += 1) {
      notes.add(callOf(`q${no}`));
      notes.settle(callOf(`q${no}`));
    }

    expect(afterFailure).toEqual(['in flight']);
    expect(idsOf(folder)).toEqual(['in flight', 'q99']);
  });

  it('have more room where more calls are left than were expected', async () => {
    await using folder = await temporaryFolder();
    const notes = openNotes(folder, 2);
    const ids = Array.from({ length: 7 }, (_, index) => `q${index}`);

    for (const id of ids) notes.add(callOf(id));

    expect(idsOf(folder).toSorted()).toEqual(ids);
  });

  it('are gone once a process has ended that has recorded all of its calls, and stay otherwise', async () => {
    await using folder = await temporaryFolder();
    {
      using notes = openNotes(folder);
      notes.add(callOf('recorded'));
      notes.settle(callOf('recorded'));
    }
    const afterOrder = idsOf(folder);
    {
      using notes = openNotes(folder);
      notes.add(callOf('stopped'));
    }

    expect(afterOrder).toEqual([]);
    expect(idsOf(folder)).toEqual(['stopped']);
  });

  it('are refused where they cannot be written, before any call is made', async () => {
    await using folder = await temporaryFolder();
    await writeFile(folder.resolve('runs'), 'a file in the way');

    expect(() => openNotes(folder)).toThrow(expect.objectContaining({ code: 'store-unusable' }));
  });
});
