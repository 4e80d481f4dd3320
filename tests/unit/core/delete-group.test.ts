import {
  type Deletion,
  type DeletionStores,
  type DlqEntry,
  deleteGroup,
  finalizePart,
  type GroupHeader,
  limits,
  markForDeletion,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import type { DeletionOptions } from '../../../packages/core/src/change/delete-group.ts';
import { aCellKey, aCellTask, anEditedHeader, aTally } from '../../support/builders.ts';
import { FakeStage } from '../../support/fake-stage.ts';
import { Steps } from '../../support/steps.ts';
import { workPartOptions } from '../../support/work-part-options.ts';

const options: DeletionOptions = {
  signal: new AbortController().signal,
  onHeld: () => undefined,
};

/** The DLQ with these messages; removes what is removed from it. */
function aDlq(entries: DlqEntry[], unseenCount = 0) {
  return () => ({
    unseenCount,
    async *pages() {
      yield await Promise.resolve([...entries]);
    },
    remove: async (removed: readonly DlqEntry[]) => {
      for (const entry of removed) entries.splice(entries.indexOf(entry), 1);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
}

function aMessage(run: string): DlqEntry {
  return { kind: 'task', messageId: run, sentAt: null, lane: 'lab', task: aCellTask({ run }) };
}

/** A stage with a group of two runs that are done, and what there is to delete it from. */
async function openStage(entries: DlqEntry[] = []) {
  const stage = new FakeStage();
  const { ledger, blobs, clock, activeGroups, workLeases } = stage;
  const header = await stage.enter({ ids: ['q1', 'q2'], runCount: 2 });
  for (const run of header.runs) {
    for (const id of ['q1', 'q2']) {
      await stage.answer(await stage.deliver({ run, id }));
    }
  }
  await blobs.write('runs/demo/summary.json', ['{}']);
  await blobs.write('checkpoints/demo/worker-1/1', ['{}']);
  await activeGroups.add('demo');
  await activeGroups.defer('lab', 'demo');
  const stageLists = { activeGroups, workLeases, openDlqScan: aDlq(entries) };
  return { stage, header, stores: { ledger, records: ledger, blobs, clock, stageLists } };
}

/** The edits of a group that asks other questions now than another. */
function editsAfter({ questions, specSource }: GroupHeader): GroupHeader['edits'] {
  const before = { specSha256: specSource.sha256, questions };
  return anEditedHeader().edits.map((edit) => ({ ...edit, before }));
}

/** Deletes a group as the command does. */
async function deleteMarked(
  header: GroupHeader,
  stores: DeletionStores,
  deletionOptions: DeletionOptions,
): Promise<Deletion> {
  await markForDeletion([header], stores, deletionOptions);
  return await deleteGroup(header, stores, deletionOptions);
}

describe('deleting a group', () => {
  it('leaves nothing of it', async () => {
    const { stage, header, stores } = await openStage();

    const deletion = await deleteMarked(header, stores, options);

    expect(deletion).toEqual({ dlqMessages: 0, unseenDlqMessages: 0, sharesQuestions: false });
    expect(await stage.ledger.listGroups()).toEqual([]);
    expect(stage.ledger.cell(aCellKey({ run: 'demo-r2', id: 'q2' }))).toBeUndefined();
    expect(await stage.ledger.readTallies('demo-r1')).toEqual([]);
    expect([...stage.blobs.texts.keys()]).toEqual([]);
    expect(await stage.activeGroups.list()).toEqual([]);
    expect(await stage.activeGroups.listDeferred()).toEqual([]);
  });

  it('keeps everything of other groups', async () => {
    const { stage, header, stores } = await openStage();
    await stage.enter({ group: 'demo2', ids: ['q1'] });
    await stage.answer(await stage.deliver({ run: 'demo2-r1' }));
    await stage.blobs.write('runs/demo2/summary.json', ['{}']);
    await stage.activeGroups.defer('lab', 'demo2');

    await deleteMarked(header, stores, options);

    expect((await stage.ledger.listGroups()).map((each) => each.header.group)).toEqual(['demo2']);
    expect(stage.ledger.cell(aCellKey({ run: 'demo2-r1' }))).toMatchObject({ state: 'done' });
    expect([...stage.blobs.texts.keys()].toSorted()).toEqual([
      'questions/demo2.jsonl',
      'runs/demo2/summary.json',
    ]);
    expect(await stage.activeGroup()).toEqual(['demo2']);
    expect(await stage.activeGroups.listDeferred()).toMatchObject([{ group: 'demo2' }]);
  });

  it.each(['now', 'before an edit'])(
    'keeps questions that another group asks %s, until that is deleted too',
    async (when) => {
      const { stage, header, stores } = await openStage();
      const edited = { key: 'questions/edited.jsonl', sha256: '', count: 1 };
      await stage.blobs.write(edited.key, ['']);
      const change = when === 'now' ? {} : { questions: edited, edits: editsAfter(header) };
      const copy = { ...header, group: 'copy', runs: ['copy-r1'], ...change };
      await stage.ledger.createGroup(copy);

      const first = await deleteMarked(header, stores, options);
      const isKept = await stage.blobs.has(header.questions.key);
      await deleteMarked(copy, stores, options);

      expect([first.sharesQuestions, isKept]).toEqual([true, true]);
      expect(await stage.blobs.has(header.questions.key)).toBe(false);
    },
  );

  it('deletes its DLQ messages, and says how many it could not see', async () => {
    const entries = ['demo-r1', 'demo2-r1', 'demo-r2'].map(aMessage);
    const { header, stores } = await openStage();
    const stageLists = { ...stores.stageLists, openDlqScan: aDlq(entries, 3) };

    const deletion = await deleteMarked(header, { ...stores, stageLists }, options);

    expect(deletion).toMatchObject({ dlqMessages: 2, unseenDlqMessages: 3 });
    expect(entries.map(({ messageId }) => messageId)).toEqual(['demo2-r1']);
  });

  it('waits for the cells that workers hold', async () => {
    const { stage, header, stores } = await openStage();
    const key = aCellKey({ id: 'q3' });
    await stage.ledger.claimCell(key, 0, 'worker-1');
    const held: number[] = [];
    const startedAtMs = stage.clock.now();

    await deleteMarked(header, stores, { ...options, onHeld: (count) => held.push(count) });

    expect(new Set(held)).toEqual(new Set([1]));
    expect(stage.clock.now() - startedAtMs).toBeGreaterThanOrEqual(limits.leaseMs);
    expect(stage.ledger.cell(key)).toBeUndefined();
  });

  it('deletes what the last worker counts after it has ended its cell', async () => {
    const { stage, header, stores } = await openStage();
    const key = aCellKey({ id: 'q3' });
    await stage.ledger.claimCell(key, 0, 'worker-1');
    const acts = [
      () => void stage.ledger.releaseCell(key, 'worker-1', [], 0),
      () => stage.ledger.setTally(aTally()),
    ];
    const onHeld = () => {
      stage.clock.onSleep = () => acts.shift()?.();
    };

    await deleteMarked(header, stores, { ...options, onHeld });

    expect(acts).toEqual([]);
    expect(await stage.ledger.readTallies('demo-r1')).toEqual([]);
  });

  it('waits for a worker that claims a cell because it has just read that the group is active', async () => {
    const { stage, header, stores } = await openStage();
    const key = aCellKey({ id: 'q3' });
    const held: number[] = [];
    let isFirst = true;
    const sleep = async (delayMs: number, signal?: AbortSignal) => {
      const isToClaim = isFirst;
      isFirst = false;
      await stage.clock.sleep(isToClaim ? limits.recentMs : delayMs, signal);
      if (isToClaim) await stage.ledger.claimCell(key, 0, 'worker-1');
    };

    const onHeld = (count: number) => held.push(count);
    await deleteMarked(header, { ...stores, clock: { sleep } }, { ...options, onHeld });

    expect(new Set(held)).toEqual(new Set([1]));
    expect(stage.ledger.cell(key)).toBeUndefined();
  });

  it('waits once for such workers, however many groups are deleted', async () => {
    const { stage, header, stores } = await openStage();
    const other = await stage.enter({ group: 'demo2' });
    const startedAtMs = stage.clock.now();

    await markForDeletion([header, other], stores, options);

    expect(stage.clock.now() - startedAtMs).toBe(5_000);
    expect(await stage.ledger.readGroup('demo2')).toMatchObject({ state: 'deleting' });
  });

  it('waits for nobody on one machine, where workers are visible', async () => {
    const { stage, header, stores } = await openStage();
    const startedAtMs = stage.clock.now();

    await deleteMarked(header, { ...stores, stageLists: undefined }, options);

    expect(stage.clock.now()).toBe(startedAtMs);
  });

  it.each([{ at: 'its rows' }, { at: 'its summaries' }])(
    'leaves no file of a worker that is writing its results: $at',
    async ({ at }) => {
      const { stage, header, stores } = await openStage();
      let isFirst = true;
      const deleteOnce = async () => {
        if (!isFirst) return;
        isFirst = false;
        await deleteMarked(header, stores, options);
      };
      const { ledger, clock, blobs, activeGroups, requests, workLeases, userCode } = stage;
      const readCells = ledger.readCells.bind(ledger);
      ledger.readCells = async (...args) => {
        const cells = await readCells(...args);
        if (at === 'its rows') await deleteOnce();
        return cells;
      };
      const readGroup = ledger.readGroup.bind(ledger);
      let readCount = 0;
      ledger.readGroup = async (group) => {
        const record = await readGroup(group);
        readCount += 1;
        // The last look before the summaries.
        if (at === 'its summaries' && readCount === 3) await deleteOnce();
        return record;
      };

      const { notifications, flag, budgets, batches } = stage;
      const own = { ledger, clock, blobs, activeGroups, requests, workLeases, userCode };
      const finalizeStores = { ...own, notifications, flag, budgets, batches };
      const finalization = finalizePart({ group: 'demo' }, workPartOptions(), finalizeStores);

      await expect(finalization).rejects.toMatchObject({ code: 'lease-lost' });
      expect(isFirst).toBe(false);
      expect([...stage.blobs.texts.keys()]).toEqual([]);
    },
  );

  it('stops when it is interrupted, and the next deletion completes it', async () => {
    const { stage, header, stores } = await openStage();
    const interrupted = deleteMarked(header, stores, { ...options, signal: AbortSignal.abort() });

    await expect(interrupted).rejects.toMatchObject({ code: 'interrupted' });
    expect(await stage.ledger.readGroup('demo')).toMatchObject({ state: 'deleting' });
    await deleteMarked(header, stores, options);
    expect(await stage.ledger.listGroups()).toEqual([]);
  });

  it('waits again for a worker that writes its results if the first deletion was stopped while it waited', async () => {
    const { stage, header, stores } = await openStage();
    await stage.workLeases.claim({ group: 'demo', work: 'results' }, 'ann', 'request-1');
    const sleptMs: number[] = [];
    const stop = new AbortController();
    const sleep = async (ms: number) => {
      sleptMs.push(ms);
      if (sleptMs.length === 2) stop.abort();
    };

    const stopped = deleteMarked(
      header,
      { ...stores, clock: { sleep } },
      { ...options, signal: stop.signal },
    );
    await expect(stopped).rejects.toMatchObject({ code: 'interrupted' });
    await deleteMarked(header, { ...stores, clock: { sleep } }, options);

    expect(sleptMs).toEqual([5_000, 30_000, 5_000, 30_000]);
  });

  it('completes when it is repeated, wherever it was killed', async () => {
    const unharmed = new Steps();
    const { header, stores } = await openStage();
    await deleteMarked(header, watched(stores, unharmed), options);

    expect(unharmed.names).toEqual([
      'ledger.setGroupState',
      'workLeases.revokeAll',
      'records.deleteRecords',
      'records.deleteRecords',
      'records.deleteResponseCache',
      'records.deleteResponseCache',
      'blobs.removeFolder',
      'blobs.removeFolder',
      'activeGroups.find',
      'activeGroups.remove',
      'activeGroups.listDeferred',
      'activeGroups.removeDeferred',
      'ledger.listGroups',
      'blobs.remove',
      'records.deleteHeader',
    ]);
    for (const at of unharmed.names.keys()) {
      for (const takesEffect of [false, true]) {
        const opened = await openStage();
        const steps = new Steps({ at, takesEffect, crashesProcess: true });
        const killed = deleteMarked(header, watched(opened.stores, steps), options);
        await expect(killed).rejects.toThrow('no longer there');

        // It is found again, unless nothing was left to do.
        const [left] = await opened.stage.ledger.listGroups();
        if (left !== undefined) await deleteMarked(left.header, opened.stores, options);

        expect(await opened.stage.ledger.listGroups()).toEqual([]);
        expect([...opened.stage.blobs.texts.keys()]).toEqual([]);
        expect(await opened.stage.ledger.readTallies('demo-r1')).toEqual([]);
        expect(await opened.stage.activeGroup()).toEqual([]);
      }
    }
  });
});

/** The stores of a deletion whose every call is a step of a process. */
function watched(stores: DeletionStores, steps: Steps): DeletionStores {
  const { ledger, records, blobs, clock, stageLists } = stores;
  return {
    ledger: steps.watch('ledger', ledger),
    records: steps.watch('records', records),
    blobs: steps.watch('blobs', blobs),
    clock,
    stageLists: stageLists && {
      ...stageLists,
      activeGroups: steps.watch('activeGroups', stageLists.activeGroups),
      workLeases: steps.watch('workLeases', stageLists.workLeases),
    },
  };
}
