import {
  type CellRecord,
  type DlqEntry,
  type DlqFilter,
  type DlqReport,
  dropMessages,
  type GroupHeader,
  replayMessages,
} from '@thrice/core';
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../packages/core/src/domain/cell.ts';
import {
  aCellKey,
  aCellResult,
  aFailedResult,
  aGroupHeader,
  anError,
} from '../../support/builders.ts';
import {
  aFailureEntry,
  anUnreadableEntry,
  aStrayTask,
  FakeDeadLetterQueue,
  WatchLog,
} from '../../support/dlq-messages.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';
import { FakeTaskQueue } from '../../support/fake-task-queue.ts';

const LANES: ReadonlySet<string> = new Set(['lab', 'openai']);

/** A group `demo` whose cells a test sets up, and its DLQ messages. */
async function aStage(
  entries: readonly DlqEntry[],
  init: { readonly header?: Partial<GroupHeader>; readonly pageSize?: number } = {},
) {
  const clock = new FakeClock();
  const ledger = new FakeLedger(clock);
  await ledger.createGroup(aGroupHeader({ runs: ['demo-r1', 'demo-r2'], ...init.header }));
  const messages = new FakeDeadLetterQueue(entries, init.pageSize);
  const stores = {
    ledger,
    queue: new FakeTaskQueue(clock),
    activeGroups: new WatchLog(),
    lanes: LANES,
  };
  return {
    ...stores,
    messages,
    /** Stores a cell in the state a worker left it in. */
    put: (id: string, parts: Partial<CellRecord> = {}) => {
      const record = { state: 'done', generation: 0, attempts: 1, attemptLog: [] } as const;
      const result = aFailedResult();
      ledger.putCell({ key: aCellKey({ id }), ...record, result, ...parts });
    },
    sent: () => stores.queue.sent.map(({ lane, task }) => `${lane} ${task.id} g${task.generation}`),
    replay: async (filter: DlqFilter = {}, stop = new AbortController().signal) => {
      await using scan = messages.open();
      return await replayMessages({ scan, filter, stop }, stores);
    },
    drop: async (filter: DlqFilter = {}, stop = new AbortController().signal) => {
      await using scan = messages.open();
      return await dropMessages({ scan, filter, stop });
    },
  };
}

function aReport(parts: {
  readonly messages?: Partial<DlqReport['messages']>;
  readonly cells?: Partial<DlqReport['cells']>;
  readonly problems?: DlqReport['problems'];
  readonly isInterrupted?: boolean;
}): DlqReport {
  const { messages, cells, ...rest } = parts;
  const none = { seen: 0, matched: 0, replayed: 0, stale: 0, dropped: 0, unreadable: 0, kept: 0 };
  return {
    messages: { ...none, ...messages },
    cells: { matched: 0, replayed: 0, ...cells },
    problems: [],
    unseen: 0,
    isInterrupted: false,
    ...rest,
  };
}

describe('a replay', () => {
  it("sends a failed cell's task to its lane as the next generation and removes the message", async () => {
    const stage = await aStage([aFailureEntry({ id: 'q1', generation: 2 }, { lane: 'openai' })]);
    stage.put('q1', { generation: 2 });

    const report = await stage.replay();

    expect(stage.queue.sent).toEqual([
      { lane: 'openai', task: { ...aFailureEntry({ id: 'q1' }).task, generation: 3 } },
    ]);
    expect(stage.messages.entries).toEqual([]);
    expect(report).toEqual(
      aReport({
        messages: { seen: 1, matched: 1, replayed: 1 },
        cells: { matched: 1, replayed: 1 },
      }),
    );
  });

  it.each([
    ['on one page', 10],
    ['on several', 1],
  ])('sends a cell with several messages once (%s)', async (_, pageSize) => {
    const stage = await aStage(
      ['a', 'b', 'c'].map((messageId) => aFailureEntry({}, { messageId })),
      { pageSize },
    );
    stage.put('q1');

    const report = await stage.replay();

    expect(stage.sent()).toEqual(['lab q1 g1']);
    expect(stage.messages.entries).toEqual([]);
    expect(report.messages).toMatchObject({ matched: 3, replayed: 3, stale: 0, kept: 0 });
    expect(report.cells).toEqual({ matched: 1, replayed: 1 });
  });

  it.each<[string, Outcome, number]>([
    ['has a score', 'scored', 0],
    ['is unparsed', 'unparsed', 0],
    ['has a score of a later generation', 'scored', 1],
    ['failed in a later generation', 'failed', 1],
  ])('removes the message of a cell that %s and sends nothing', async (_, outcome, generation) => {
    const stage = await aStage([aFailureEntry(), aStrayTask()]);
    const result = outcome === 'failed' ? aFailedResult() : aCellResult();
    stage.put('q1', { generation, result });

    const report = await stage.replay();

    expect(stage.sent()).toEqual([]);
    expect(stage.messages.entries).toEqual([]);
    expect(stage.activeGroups.activeGroup).toEqual([]);
    expect(report).toEqual(
      aReport({ messages: { seen: 2, matched: 2, stale: 2 }, cells: { matched: 1 } }),
    );
  });

  it('removes the message of a cell that is running again in a later generation', async () => {
    const stage = await aStage([aFailureEntry()]);
    stage.put('q1', { state: 'claimed', generation: 1, result: undefined });

    const report = await stage.replay();

    expect(stage.sent()).toEqual([]);
    expect(report.messages).toMatchObject({ stale: 1, kept: 0 });
  });

  it('sends the latest message of several generations', async () => {
    const stage = await aStage([0, 2, 1].map((generation) => aFailureEntry({ generation })));
    stage.put('q1', { generation: 2 });

    const report = await stage.replay();

    expect(stage.sent()).toEqual(['lab q1 g3']);
    expect(report.messages).toMatchObject({ replayed: 1, stale: 2, kept: 0 });
  });

  it('sends an ungraded cell again', async () => {
    const stage = await aStage([aFailureEntry()]);
    stage.put('q1', { result: aCellResult({ outcome: 'ungraded', score: null }) });

    await stage.replay();

    expect(stage.sent()).toEqual(['lab q1 g1']);
  });

  it.each<[string, Partial<CellRecord> | undefined]>([
    ['was never claimed', undefined],
    ['was claimed by a worker that crashed', { state: 'claimed', result: undefined }],
    ['was released', { state: 'released', result: undefined }],
  ])('sends a task from the DLQ unchanged if its cell %s', async (_, record) => {
    const stage = await aStage([aStrayTask({}, { lane: 'openai' })]);
    if (record !== undefined) stage.put('q1', record);

    const report = await stage.replay();

    expect(stage.sent()).toEqual(['openai q1 g0']);
    expect(report.messages).toMatchObject({ replayed: 1, kept: 0 });
  });

  it('sends a task from the DLQ in the next generation if its cell failed', async () => {
    const stage = await aStage([aStrayTask(), aFailureEntry()], { pageSize: 1 });
    stage.put('q1');

    const report = await stage.replay();

    expect(stage.sent()).toEqual(['lab q1 g1']);
    expect(report.messages).toMatchObject({ replayed: 2, kept: 0 });
  });

  it("sends a task from an unknown queue to its config's lane", async () => {
    const stage = await aStage([aStrayTask({}, { lane: undefined })]);

    await stage.replay();

    expect(stage.sent()).toEqual(['lab q1 g0']);
  });

  it.each([
    ['it is unreadable: there is no task to send', anUnreadableEntry()],
    ['group "gone" is not in the ledger', aFailureEntry({ run: 'gone-r1' })],
    ['group "demo" has no run "demo-r3"', aFailureEntry({ run: 'demo-r3' })],
    ['group "demo" has no config "other"', aFailureEntry({ config: 'other' })],
    ['lane "grok" has no queue', aFailureEntry({}, { lane: 'grok' })],
    ['lane "grok" has no queue', aStrayTask({}, { lane: 'grok' })],
  ])('keeps a message it cannot send: %s', async (problem, entry) => {
    const sound = aFailureEntry({ id: 'sound' });
    const stage = await aStage([entry, { ...entry, messageId: 'another' }, sound]);

    const report = await stage.replay();

    expect(stage.sent()).toEqual(['lab sound g1']);
    expect(stage.messages.messageIds).toEqual([entry.messageId, 'another']);
    expect(report.problems).toEqual([{ problem, messages: 2 }]);
    expect(report.messages).toMatchObject({ seen: 3, matched: 3, replayed: 1, kept: 2 });
    expect(report.messages.unreadable).toBe(entry.kind === 'unreadable' ? 2 : 0);
  });

  it('keeps the message of a cell that fails again during the replay', async () => {
    const stage = await aStage([aFailureEntry()], { pageSize: 1 });
    stage.put('q1');
    await using scan = stage.messages.open();
    let isOver = false;
    scan.onPage = () => {
      if (stage.queue.sent.length === 0 || isOver) return;
      isOver = true;
      stage.put('q1', { generation: 1 });
      stage.messages.entries = [aFailureEntry({ generation: 1 }), aStrayTask({ generation: 1 })];
    };

    const stop = new AbortController().signal;
    const report = await replayMessages({ scan, filter: {}, stop }, stage);

    expect(stage.sent()).toEqual(['lab q1 g1']);
    expect(stage.messages.messageIds).toEqual(['message-q1-g1', 'task-q1-g1']);
    expect(report.problems).toEqual([
      { problem: 'its cell failed again after it was replayed', messages: 2 },
    ]);
  });

  describe('of a group', () => {
    it('adds it to the active groups once, before sending', async () => {
      const stage = await aStage(
        ['q1', 'q2', 'q3'].map((id) => aFailureEntry({ id })),
        { pageSize: 2 },
      );
      stage.queue.failNextSend(anError('store-unavailable'));
      await expect(stage.replay()).rejects.toMatchObject({ code: 'store-unavailable' });
      expect(stage.activeGroups.activeGroup).toEqual(['demo']);

      await stage.replay();

      expect(stage.activeGroups.activeGroup).toEqual(['demo', 'demo']);
    });

    it('sends nothing if the group is cancelled, because that would resume all of it', async () => {
      const stage = await aStage([aFailureEntry({ id: 'q1' })]);
      await stage.ledger.setGroupState('demo', 'cancelled');

      const { messages, problems } = await stage.replay();

      expect(messages).toMatchObject({ replayed: 0, kept: 1 });
      expect(problems).toMatchObject([{ problem: 'group "demo" is cancelled; resume it first' }]);
      expect(await stage.ledger.readGroup('demo')).toMatchObject({ state: 'cancelled' });
      expect(stage.activeGroups.activeGroup).toEqual([]);
    });

    it('does not add any other group', async () => {
      const stage = await aStage([aFailureEntry({ id: 'q1', run: 'demo-r2' })]);
      await stage.ledger.createGroup(aGroupHeader({ group: 'other' }), 'cancelled');

      await stage.replay();

      expect(stage.activeGroups.activeGroup).toEqual(['demo']);
      expect(await stage.ledger.readGroup('other')).toMatchObject({ state: 'cancelled' });
    });
  });

  it('does not remove a message whose task was not sent', async () => {
    const stage = await aStage([aFailureEntry({ id: 'q1' }), aFailureEntry({ id: 'q2' })], {
      pageSize: 1,
    });
    stage.queue.failNextSend(anError('store-unavailable'));

    await expect(stage.replay()).rejects.toMatchObject({ code: 'store-unavailable' });

    expect(stage.messages.entries).toHaveLength(2);
  });

  it('stops after the page in flight', async () => {
    const ids = ['q1', 'q2', 'q3', 'q4', 'q5'];
    const stage = await aStage(
      ids.map((id) => aFailureEntry({ id })),
      { pageSize: 2 },
    );
    const stop = new AbortController();
    await using scan = stage.messages.open();
    scan.onPage = () => {
      if (stage.queue.sent.length > 0) stop.abort();
    };

    const report = await replayMessages({ scan, filter: {}, stop: stop.signal }, stage);

    expect(stage.sent()).toEqual(['lab q1 g1', 'lab q2 g1']);
    expect(stage.messages.messageIds).toEqual(['message-q3-g0', 'message-q4-g0', 'message-q5-g0']);
    expect(report).toEqual(
      aReport({
        messages: { seen: 2, matched: 2, replayed: 2 },
        cells: { matched: 2, replayed: 2 },
        isInterrupted: true,
      }),
    );
  });
});

describe('a filter', () => {
  const entries = [
    aFailureEntry({ id: 'one' }),
    aFailureEntry(
      { id: 'two', run: 'demo-r2' },
      { error: { class: 'rejected', code: 'content-filtered', message: '' } },
    ),
    aFailureEntry({ id: 'three', config: 'other' }),
    aStrayTask({ id: 'four' }),
    anUnreadableEntry(),
  ];
  const one = 'message-one-g0';
  const two = 'message-two-g0';
  const three = 'message-three-g0';
  const four = 'task-four-g0';

  it.each<[DlqFilter, readonly string[]]>([
    [{}, [one, two, three, four, 'unreadable']],
    [{ runs: new Set(['demo-r2']) }, [two]],
    [{ runs: new Set(['demo-r1', 'demo-r2']) }, [one, two, three, four]],
    [{ runs: new Set() }, []],
    [{ config: 'direct' }, [one, two, four]],
    [{ errorClass: 'transient' }, [one, three]],
    [{ errorClass: 'rejected' }, [two]],
    [{ errorClass: 'internal' }, [four, 'unreadable']],
    [{ errorClass: 'internal', config: 'direct' }, [four]],
    [{ errorClass: 'internal', runs: new Set(['demo-r1']) }, [four]],
    [{ runs: new Set(['demo-r1']), config: 'other', errorClass: 'transient' }, [three]],
  ])('%j drops matching messages and nothing else', async (filter, matching) => {
    const stage = await aStage(entries, { pageSize: 2 });

    const report = await stage.drop(filter);

    const all = entries.map(({ messageId }) => messageId);
    expect(stage.messages.messageIds).toEqual(all.filter((id) => !matching.includes(id)));
    const unreadable = matching.filter((id) => id === 'unreadable').length;
    const counts = { seen: 5, matched: matching.length, dropped: matching.length, unreadable };
    expect(report).toEqual(
      aReport({
        messages: { ...counts, kept: 5 - matching.length },
        cells: { matched: matching.length - unreadable },
      }),
    );
  });

  it('replays matching messages and nothing else', async () => {
    const stage = await aStage(entries, { pageSize: 2 });

    const report = await stage.replay({ runs: new Set(['demo-r1']), errorClass: 'transient' });

    expect(stage.sent()).toEqual(['lab one g1']);
    expect(stage.messages.messageIds).toEqual([two, three, four, 'unreadable']);
    expect(report.messages).toMatchObject({ seen: 5, matched: 2, replayed: 1, kept: 4 });
  });
});

describe('a drop', () => {
  it('stops after the page in flight', async () => {
    const stage = await aStage(
      ['q1', 'q2', 'q3'].map((id) => aFailureEntry({ id })),
      { pageSize: 2 },
    );
    const stop = new AbortController();
    await using scan = stage.messages.open();
    scan.onPage = () => {
      if (stage.messages.entries.length < 3) stop.abort();
    };

    const report = await dropMessages({ scan, filter: {}, stop: stop.signal });

    expect(stage.messages.messageIds).toEqual(['message-q3-g0']);
    expect(report).toEqual(
      aReport({
        messages: { seen: 2, matched: 2, dropped: 2 },
        cells: { matched: 2 },
        isInterrupted: true,
      }),
    );
  });
});
