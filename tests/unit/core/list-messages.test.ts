import { type CellRecord, type DlqCellState, limits, listMessages } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCellKey, aCellResult, aFailedResult } from '../../support/builders.ts';
import {
  aFailureEntry,
  anUnreadableEntry,
  aStrayTask,
  FakeDeadLetterQueue,
} from '../../support/dlq-messages.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';

const never = new AbortController().signal;

describe('a list of DLQ messages', () => {
  it('has each cell once, with its latest message first, ordered by run, config and id', async () => {
    const early = '2026-01-01T00:00:00.000Z';
    const messages = new FakeDeadLetterQueue(
      [
        aFailureEntry({ id: 'q10' }),
        aFailureEntry({ id: 'q2' }),
        aFailureEntry({ id: 'q2' }, { messageId: 'earlier', sentAt: early }),
        aFailureEntry({ id: 'q2', generation: 1 }, { sentAt: early }),
        aStrayTask({ id: 'q1', config: 'b' }),
        aFailureEntry({ id: 'q1', run: 'demo-r10' }),
        aFailureEntry({ id: 'q1', run: 'demo-r9' }),
      ],
      3,
    );

    const list = await listMessages(
      { scan: messages.open(), filter: {}, stop: never },
      new FakeLedger(new FakeClock()),
    );

    expect(list.cells.map(({ key: { run, config, id } }) => `${run} ${config} ${id}`)).toEqual([
      'demo-r1 b q1',
      'demo-r1 direct q2',
      'demo-r1 direct q10',
      'demo-r9 direct q1',
      'demo-r10 direct q1',
    ]);
    expect(list.cells[1]?.entries.map(({ messageId }) => messageId)).toEqual([
      'message-q2-g1',
      'message-q2-g0',
      'earlier',
    ]);
    expect(list.cells[1]?.latest.messageId).toBe('message-q2-g1');
    expect(list).toMatchObject({ seen: 7, unseen: 0, unreadable: [], isInterrupted: false });
    expect(messages.entries).toHaveLength(7);
  });

  it('omits messages that do not match but counts them', async () => {
    const late = anUnreadableEntry({ messageId: 'late', sentAt: '2026-01-03T00:00:00.000Z' });
    const messages = new FakeDeadLetterQueue([
      aFailureEntry(),
      late,
      anUnreadableEntry(),
      aStrayTask({ id: 'q2' }),
      anUnreadableEntry({ messageId: 'timeless', sentAt: null }),
    ]);
    const scan = messages.open();
    scan.unseenCount = 3;

    const list = await listMessages(
      { scan, filter: { errorClass: 'internal' }, stop: never },
      new FakeLedger(new FakeClock()),
    );

    expect(list.cells.map(({ key }) => key.id)).toEqual(['q2']);
    expect(list.unreadable.map(({ messageId }) => messageId)).toEqual([
      'timeless',
      'unreadable',
      'late',
    ]);
    expect(list).toMatchObject({ seen: 5, unseen: 3 });
  });

  it.each<[DlqCellState, Partial<CellRecord> | undefined]>([
    ['not-attempted', undefined],
    ['failed', { generation: 1 }],
    ['failed-again', { generation: 2 }],
    ['scored', { generation: 1, result: aCellResult() }],
    ['scored', { generation: 2, result: aCellResult() }],
    ['unparsed', { generation: 2, result: aCellResult({ outcome: 'unparsed', score: 0 }) }],
    ['ungraded', { generation: 2, result: aCellResult({ outcome: 'ungraded', score: null }) }],
    ['unfinished', { state: 'claimed', generation: 1, result: undefined }],
    ['unfinished', { state: 'released', generation: 1, result: undefined }],
    ['running-again', { state: 'claimed', generation: 2, result: undefined }],
    ['running-again', { state: 'released', generation: 2, result: undefined }],
  ])('reports %s for a cell that is %j', async (now, parts) => {
    const ledger = new FakeLedger(new FakeClock());
    const record = { state: 'done', attempts: 1, attemptLog: [], result: aFailedResult() } as const;
    if (parts !== undefined)
      ledger.putCell({ key: aCellKey(), generation: 0, ...record, ...parts });
    const messages = new FakeDeadLetterQueue([aFailureEntry(), aFailureEntry({ generation: 1 })]);

    const list = await listMessages({ scan: messages.open(), filter: {}, stop: never }, ledger);

    expect(list.cells).toMatchObject([{ now }]);
  });

  it('reads the cells of a run and config together, page by page', async () => {
    const ledger = new FakeLedger(new FakeClock());
    const asked: string[] = [];
    const readCells = ledger.readCells.bind(ledger);
    ledger.readCells = async (run, config, ids) => {
      asked.push(`${run} ${config} ${ids.length}`);
      return await readCells(run, config, ids);
    };
    const ids = Array.from({ length: limits.pageSize + 1 }, (_, index) => `q${index}`);
    const messages = new FakeDeadLetterQueue([
      ...ids.map((id) => aFailureEntry({ id })),
      aFailureEntry({ id: 'q1' }, { messageId: 'again' }),
      aFailureEntry({ id: 'q1', config: 'b' }),
    ]);

    await listMessages({ scan: messages.open(), filter: {}, stop: never }, ledger);

    expect(asked).toEqual([`demo-r1 direct ${limits.pageSize}`, 'demo-r1 direct 1', 'demo-r1 b 1']);
  });

  it('reports that it was stopped and returns what it has', async () => {
    const messages = new FakeDeadLetterQueue(
      [aFailureEntry({ id: 'q1' }), aFailureEntry({ id: 'q2' })],
      1,
    );
    const stop = new AbortController();
    const scan = messages.open();
    let pageCount = 0;
    scan.onPage = () => {
      pageCount += 1;
      if (pageCount === 2) stop.abort();
    };

    const list = await listMessages(
      { scan, filter: {}, stop: stop.signal },
      new FakeLedger(new FakeClock()),
    );

    expect(list.cells.map(({ key }) => key.id)).toEqual(['q1']);
    expect(list).toMatchObject({ seen: 1, isInterrupted: true });
  });
});
