import type { CellRecord, DlqEntry } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import {
  type DlqCommand,
  type DlqCommandOptions,
  dropDlq,
  listDlq,
  replayDlq,
  showDlq,
} from '../../../packages/cli/src/dlq/dlq-messages.ts';
import type { ExitCode } from '../../../packages/cli/src/shell/exit-codes.ts';
import { aCellKey, aCellResult, aFailedResult, aGroupHeader } from '../../support/builders.ts';
import {
  aFailureEntry,
  anUnreadableEntry,
  aStrayTask,
  FakeDeadLetterQueue,
  type FakeDlqScan,
  WatchLog,
} from '../../support/dlq-messages.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';
import { FakeTaskQueue } from '../../support/fake-task-queue.ts';
import { callThrice, fakeTerminal } from '../../support/run-thrice.ts';

type Act = (command: DlqCommand) => Promise<ExitCode>;

const rejected = {
  class: 'rejected',
  code: 'content-filtered',
  message: 'no, \u001b[31mno',
} as const;

/** Two cells with three messages, a task that SQS redrove, and an unreadable message. */
const mixed: readonly DlqEntry[] = [
  aFailureEntry({ id: 'q10' }, { messageId: 'm1', error: rejected }),
  aFailureEntry({ id: 'q2' }, { messageId: 'm2' }),
  aFailureEntry({ id: 'q2' }, { messageId: 'm3', sentAt: '2026-01-02T03:00:00.000Z' }),
  aStrayTask({ id: 'q1', run: 'demo-r2' }, { messageId: 'm4', lane: undefined, sentAt: null }),
  anUnreadableEntry({ messageId: 'm5' }),
];

/** A stage `dev` with a group `demo` of two runs and the given messages in its DLQ. */
async function aStage(entries: readonly DlqEntry[]) {
  const clock = new FakeClock();
  const ledger = new FakeLedger(clock);
  await ledger.createGroup(aGroupHeader({ runs: ['demo-r1', 'demo-r2'] }));
  const messages = new FakeDeadLetterQueue(entries, 2);
  const queue = new FakeTaskQueue(clock);
  const scans: FakeDlqScan[] = [];
  return {
    ledger,
    messages,
    queue,
    scans,
    /** Stores a cell as a worker left it. */
    put: (id: string, parts: Partial<CellRecord> = {}) => {
      const record = { state: 'done', generation: 0, attempts: 1, attemptLog: [] } as const;
      ledger.putCell({ key: aCellKey({ id }), ...record, result: aFailedResult(), ...parts });
    },
    /** Runs a command to its end. */
    run: async (
      act: Act,
      options: DlqCommandOptions = {},
      prepare: (scan: FakeDlqScan, stop: AbortController) => void = () => undefined,
    ) => {
      const terminal = fakeTerminal();
      const stop = new AbortController();
      const openDlqScan = () => {
        const scan = messages.open();
        scans.push(scan);
        prepare(scan, stop);
        return scan;
      };
      const lanes = new Set(['lab']);
      const stage = {
        name: 'dev',
        ledger,
        queue,
        activeGroups: new WatchLog(),
        lanes,
        openDlqScan,
      };
      const exitCode = await act({ terminal, stage, options, stop: stop.signal });
      return { exitCode, stdout: terminal.stdout, stderr: terminal.stderr };
    },
  };
}

function lines(...texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('');
}

/** Aborts after the first page. */
function stopAfterFirst(scan: FakeDlqScan, stop: AbortController): void {
  let pageCount = 0;
  scan.onPage = () => {
    pageCount += 1;
    if (pageCount === 2) stop.abort();
  };
}

describe('dlq ls', () => {
  it('prints one line per cell and the counts by class', async () => {
    const stage = await aStage(mixed);
    stage.put('q10');
    stage.put('q2', { result: aCellResult() });

    const outcome = await stage.run(listDlq);

    expect(outcome).toEqual({
      exitCode: 0,
      stdout: lines(
        'run      config  id   class      code              sent                      messages  now',
        'demo-r1  direct  q2   transient  model-timeout     2026-01-02T03:04:05.000Z         2  scored since',
        'demo-r1  direct  q10  rejected   content-filtered  2026-01-02T03:04:05.000Z            still failed',
        'demo-r2  direct  q1   internal   worker-died       –                                   not attempted',
        '3 cells (4 messages): 1 internal, 1 rejected, 1 transient; 1 unreadable message',
      ),
      stderr: '',
    });
    expect(stage.messages.entries).toEqual(mixed);
    expect(stage.scans.map(({ isDisposed }) => isDisposed)).toEqual([true]);
  });

  it('prints one document with --json', async () => {
    const stage = await aStage(mixed);
    stage.put('q10');

    const { stdout, exitCode } = await stage.run(listDlq, { json: true });

    const sentAt = '2026-01-02T03:04:05.000Z';
    const problem = 'expected JSON, received 5 characters of something else';
    const q2 = { run: 'demo-r1', id: 'q2', config: 'direct' };
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      stage: 'dev',
      seen: 5,
      unseen: 0,
      interrupted: false,
      byClass: { internal: 1, rejected: 1, transient: 1 },
      cells: [
        {
          ...q2,
          class: 'transient',
          code: 'model-timeout',
          sentAt,
          messageCount: 2,
          now: 'not-attempted',
        },
        {
          ...q2,
          id: 'q10',
          class: 'rejected',
          code: 'content-filtered',
          sentAt,
          messageCount: 1,
          now: 'failed',
        },
        {
          ...q2,
          run: 'demo-r2',
          id: 'q1',
          class: 'internal',
          code: 'worker-died',
          sentAt: null,
          messageCount: 1,
          now: 'not-attempted',
        },
      ],
      unreadable: [{ messageId: 'm5', sentAt, problem }],
    });
  });

  it.each<[string, readonly DlqEntry[], DlqCommandOptions, string]>([
    ['there are no messages', [], {}, 'no DLQ messages in stage dev'],
    [
      'no message matches',
      mixed,
      { errorClass: 'exhausted' },
      'no match among 5 DLQ messages in stage dev',
    ],
    [
      'all messages are unreadable',
      [anUnreadableEntry(), anUnreadableEntry()],
      {},
      '0 cells (0 messages); 2 unreadable messages',
    ],
  ])('reports that %s', async (_, entries, options, text) => {
    const stage = await aStage(entries);

    const outcome = await stage.run(listDlq, options);

    expect(outcome).toEqual({ exitCode: 0, stdout: lines(text), stderr: '' });
  });

  it.each([
    [1, 'about 1 more message is held by'],
    [7, 'about 7 more messages are held by'],
  ])('reports that %i messages could not be received', async (unseen, text) => {
    const stage = await aStage([]);

    const outcome = await stage.run(listDlq, {}, (scan) => {
      scan.unseenCount = unseen;
    });

    expect(outcome).toEqual({
      exitCode: 0,
      stdout: lines('no DLQ messages available in stage dev'),
      stderr: lines(
        `${text} another command, or by one that was killed; try again in a few minutes`,
      ),
    });
  });

  it('prints what it has found and exits with 130 when it is stopped', async () => {
    const stage = await aStage(mixed);

    const { exitCode, stdout, stderr } = await stage.run(listDlq, {}, stopAfterFirst);

    expect(exitCode).toBe(130);
    expect(stdout).toMatch(/2 cells \(2 messages\): 1 rejected, 1 transient\n$/);
    expect(stderr).toBe(
      lines('interrupted: there may be more messages; run the same command again to continue'),
    );
  });
});

describe('dlq show', () => {
  it('prints messages, tasks and unreadable messages in full, escaped', async () => {
    const body = `\u001b]0;owned\u0007${'x'.repeat(400)}`;
    const stage = await aStage([
      ...mixed.slice(0, 4),
      anUnreadableEntry({ messageId: 'm5', body }),
    ]);
    stage.put('q10');

    const { stdout, exitCode } = await stage.run(showDlq);

    const question = 'question questions/abc.jsonl from byte 0, 10 bytes';
    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      lines(
        '── demo-r1 direct q2: not attempted ──',
        'message m2, sent 2026-01-02T03:04:05.000Z',
        `lane lab, generation 0, ${question}`,
        'error [model-timeout] no answer',
        'message m3, sent 2026-01-02T03:00:00.000Z',
        `lane lab, generation 0, ${question}`,
        'error [model-timeout] no answer',
        '',
        '── demo-r1 direct q10: still failed ──',
        'message m1, sent 2026-01-02T03:04:05.000Z',
        `lane lab, generation 0, ${question}`,
        'error [content-filtered] no, \\x1b[31mno',
        '',
        '── demo-r2 direct q1: not attempted ──',
        'task m4, sent at an unknown time',
        `lane unknown, generation 0, ${question}`,
        'error [worker-died] the task was received too many times and no worker reported a result',
        '',
        '── unreadable message m5, sent 2026-01-02T03:04:05.000Z ──',
        'expected JSON, received 5 characters of something else',
        `\\x1b]0;owned\\x07${'x'.repeat(289)}…`,
        '(truncated, 410 characters in total)',
      ),
    );
  });

  it('prints one document with --json', async () => {
    const stage = await aStage([
      ...mixed.slice(1, 4),
      anUnreadableEntry({ body: `${'x'.repeat(299)}😀` }),
    ]);

    const { stdout } = await stage.run(showDlq, { json: true });

    const { task, error } = aFailureEntry({ id: 'q2' });
    const sentAt = '2026-01-02T03:04:05.000Z';
    const message = { kind: 'message', lane: 'lab', task, error };
    expect(JSON.parse(stdout)).toMatchObject({
      stage: 'dev',
      seen: 4,
      byClass: { internal: 1, transient: 1 },
      cells: [
        {
          run: 'demo-r1',
          config: 'direct',
          id: 'q2',
          now: 'not-attempted',
          messages: [
            { messageId: 'm2', sentAt, ...message },
            { messageId: 'm3', sentAt: '2026-01-02T03:00:00.000Z', ...message },
          ],
        },
        {
          run: 'demo-r2',
          messages: [
            {
              messageId: 'm4',
              sentAt: null,
              kind: 'task',
              lane: null,
              error: { code: 'worker-died' },
            },
          ],
        },
      ],
      unreadable: [{ messageId: 'unreadable', bodyChars: 301, body: `${'x'.repeat(299)}…` }],
    });
  });

  it('reports that no message matches', async () => {
    const stage = await aStage(mixed);

    const outcome = await stage.run(showDlq, { config: 'other' });

    const text = 'no match among 5 DLQ messages in stage dev';
    expect(outcome).toEqual({ exitCode: 0, stdout: lines(text), stderr: '' });
  });
});

describe('dlq replay', () => {
  it('prints the counts of cells and messages, and why some messages were kept', async () => {
    const stage = await aStage([
      ...mixed,
      aFailureEntry({ id: 'q3' }, { lane: 'grok' }),
      aFailureEntry({ id: 'q4' }, { lane: 'grok' }),
    ]);
    stage.put('q10', { generation: 1, result: undefined, state: 'claimed' });
    stage.put('q2');

    const outcome = await stage.run(replayDlq);

    expect(outcome).toEqual({
      exitCode: 0,
      stdout: lines(
        'replayed 2 cells (3 messages)',
        'deleted 1 message of cells scored or rerun since',
        'kept 3 messages: 3 cannot be replayed',
      ),
      stderr: lines(
        '1 message not replayed: it is unreadable: there is no task to send',
        '2 messages not replayed: lane "grok" has no queue',
      ),
    });
    expect(stage.queue.sent.map(({ task }) => task.id)).toEqual(['q2', 'q1']);
  });

  it('filters by run, config and class', async () => {
    const stage = await aStage(mixed);
    stage.put('q10');
    stage.put('q2');

    const outcome = await stage.run(replayDlq, {
      run: 'demo-r1',
      config: 'direct',
      errorClass: 'rejected',
    });

    expect(outcome).toEqual({
      exitCode: 0,
      stdout: lines('replayed 1 cell (1 message)', 'kept 4 messages: 4 did not match'),
      stderr: '',
    });
    expect(stage.messages.messageIds).toEqual(['m2', 'm3', 'm4', 'm5']);
  });

  it('replays all runs of a group that is named as the run', async () => {
    const stage = await aStage(mixed);

    await stage.run(replayDlq, { run: 'demo' });

    expect(stage.messages.messageIds).toEqual(['m5']);
  });

  it('prints one document with --json', async () => {
    const stage = await aStage(mixed);

    const { stdout, stderr } = await stage.run(replayDlq, { json: true });

    expect(JSON.parse(stdout)).toEqual({
      stage: 'dev',
      messages: { seen: 5, matched: 5, replayed: 4, stale: 0, dropped: 0, unreadable: 1, kept: 1 },
      cells: { matched: 3, replayed: 3 },
      problems: [{ problem: 'it is unreadable: there is no task to send', messages: 1 }],
      unseen: 0,
      interrupted: false,
    });
    expect(stderr).toBe(
      lines('1 message not replayed: it is unreadable: there is no task to send'),
    );
  });

  it('prints the counts so far and exits with 130 when it is stopped', async () => {
    const stage = await aStage(mixed);

    const { exitCode, stdout } = await stage.run(replayDlq, {}, stopAfterFirst);

    expect({ exitCode, stdout }).toEqual({
      exitCode: 130,
      stdout: lines('replayed 2 cells (2 messages)'),
    });
    expect(stage.messages.messageIds).toEqual(['m3', 'm4', 'm5']);
    expect(stage.scans.map(({ isDisposed }) => isDisposed)).toEqual([true]);
  });

  it('reports that no message matches', async () => {
    const stage = await aStage(mixed);

    const outcome = await stage.run(replayDlq, { errorClass: 'input' });

    const text = 'no match among 5 DLQ messages in stage dev';
    expect(outcome).toEqual({ exitCode: 0, stdout: lines(text), stderr: '' });
  });
});

describe('dlq drop', () => {
  it.each<[DlqCommandOptions, readonly string[]]>([
    [{}, ['dropped 5 messages of 3 cells; 1 unreadable']],
    [
      { errorClass: 'transient' },
      ['dropped 2 messages of 1 cell', 'kept 3 messages: 3 did not match'],
    ],
  ])('with %j prints what it deleted', async (options, texts) => {
    const stage = await aStage(mixed);

    const outcome = await stage.run(dropDlq, options);

    expect(outcome).toEqual({ exitCode: 0, stdout: lines(...texts), stderr: '' });
  });
});

describe('the options of dlq', () => {
  it('must name an existing group', async () => {
    const stage = await aStage(mixed);

    const dropping = stage.run(dropDlq, { run: 'gone' });

    await expect(dropping).rejects.toMatchObject({ code: 'unknown-group' });
    expect(stage.scans).toEqual([]);
  });

  it('must name a config of the group; the error suggests the nearest', async () => {
    const stage = await aStage(mixed);

    const listing = stage.run(listDlq, { run: 'demo', config: 'dirct' });

    await expect(listing).rejects.toThrow(
      '--config: unknown config "dirct"; did you mean "direct"? (expected direct)',
    );
    expect(stage.scans).toEqual([]);
  });

  it.each(['ls', 'show', 'replay', 'drop'])('must name a stage for %s', async (name) => {
    const outcome = await callThrice(['dlq', name], { cwd: '/' });

    expect(outcome).toEqual({
      exitCode: 64,
      stdout: '',
      stderr: lines(
        'thrice: [invalid-argument] --stage: expected the name of a deployed stage, received none: only a stage has a DLQ. On this machine, "thrice status" counts failed cells and says how to retry them, and runs/GROUP/RUN/failures_CONFIG.json lists them',
      ),
    });
  });

  it('must name an existing class; the error suggests the nearest', async () => {
    const argv = ['dlq', 'replay', '--stage', 'dev', '--class', 'rejcted'];

    const outcome = await callThrice(argv, { cwd: '/' });

    expect(outcome).toEqual({
      exitCode: 64,
      stdout: '',
      stderr: lines(
        'thrice: [invalid-argument] --class: unknown class "rejcted"; did you mean "rejected"? (expected input, transient, rate-limited, exhausted, misconfigured, rejected, user-code, conflict, internal)',
      ),
    });
  });
});
