import type { CellRecord, DeadLetterEntry } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import {
  dropDeadLetters,
  type LetterCommand,
  type LetterOptions,
  listDeadLetters,
  replayDeadLetters,
  showDeadLetters,
} from '../../../packages/cli/src/dead-letters.ts';
import type { ExitCode } from '../../../packages/cli/src/exit-codes.ts';
import { aCellKey, aCellResult, aFailedResult, aGroupHeader } from '../../support/builders.ts';
import {
  aLetterEntry,
  anUnreadableEntry,
  aStrayTask,
  type FakeDeadLetterScan,
  FakeDeadLetters,
  WatchLog,
} from '../../support/dead-letters.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeLedger } from '../../support/fake-ledger.ts';
import { FakeTaskQueue } from '../../support/fake-task-queue.ts';
import { callThrice, fakeTerminal } from '../../support/run-thrice.ts';

type Act = (command: LetterCommand) => Promise<ExitCode>;

const rejected = {
  class: 'rejected',
  code: 'content-filtered',
  message: 'no, \u001b[31mno',
} as const;

/** Two cells with three letters, a given-up task, and what nobody can read. */
const mixed: readonly DeadLetterEntry[] = [
  aLetterEntry({ id: 'q10' }, { messageId: 'm1', error: rejected }),
  aLetterEntry({ id: 'q2' }, { messageId: 'm2' }),
  aLetterEntry({ id: 'q2' }, { messageId: 'm3', sentAt: '2026-01-02T03:00:00.000Z' }),
  aStrayTask({ id: 'q1', run: 'demo-r2' }, { messageId: 'm4', lane: undefined, sentAt: null }),
  anUnreadableEntry({ messageId: 'm5' }),
];

/** A stage `dev` with a group `demo` of two runs, whose dead letters are looked through. */
async function aStage(entries: readonly DeadLetterEntry[]) {
  const clock = new FakeClock();
  const ledger = new FakeLedger(clock);
  await ledger.createGroup(aGroupHeader({ runs: ['demo-r1', 'demo-r2'] }));
  const letters = new FakeDeadLetters(entries, 2);
  const queue = new FakeTaskQueue(clock);
  const scans: FakeDeadLetterScan[] = [];
  return {
    ledger,
    letters,
    queue,
    scans,
    /** Puts a cell in place as a worker left it. */
    put: (id: string, parts: Partial<CellRecord> = {}) => {
      const record = { state: 'done', generation: 0, tries: 1, attempts: [] } as const;
      ledger.putCell({ key: aCellKey({ id }), ...record, result: aFailedResult(), ...parts });
    },
    /** Runs a command to its end. */
    run: async (
      act: Act,
      options: LetterOptions = {},
      prepare: (scan: FakeDeadLetterScan, stop: AbortController) => void = () => undefined,
    ) => {
      const terminal = fakeTerminal();
      const stop = new AbortController();
      const openLetters = () => {
        const scan = letters.open();
        scans.push(scan);
        prepare(scan, stop);
        return scan;
      };
      const lanes = new Set(['lab']);
      const stage = { name: 'dev', ledger, queue, watchlist: new WatchLog(), lanes, openLetters };
      const exitCode = await act({ terminal, stage, options, stop: stop.signal });
      return { exitCode, stdout: terminal.stdout, stderr: terminal.stderr };
    },
  };
}

function lines(...texts: readonly string[]): string {
  return texts.map((text) => `${text}\n`).join('');
}

/** Stops after the first page. */
function stopAfterFirst(scan: FakeDeadLetterScan, stop: AbortController): void {
  let pageCount = 0;
  scan.onPage = () => {
    pageCount += 1;
    if (pageCount === 2) stop.abort();
  };
}

describe('dlq ls', () => {
  it('prints a line for each cell and the counts by class', async () => {
    const stage = await aStage(mixed);
    stage.put('q10');
    stage.put('q2', { result: aCellResult() });

    const outcome = await stage.run(listDeadLetters);

    expect(outcome).toEqual({
      exitCode: 0,
      stdout: lines(
        'run      config  id   class      code              sent                      letters  now',
        'demo-r1  direct  q2   transient  model-timeout     2026-01-02T03:04:05.000Z        2  meanwhile scored',
        'demo-r1  direct  q10  rejected   content-filtered  2026-01-02T03:04:05.000Z           still failed',
        'demo-r2  direct  q1   defect     worker-died       –                                  not attempted',
        '3 cells (4 letters): 1 defect, 1 rejected, 1 transient; 1 unreadable message',
      ),
      stderr: '',
    });
    expect(stage.letters.entries).toEqual(mixed);
    expect(stage.scans.map(({ isDisposed }) => isDisposed)).toEqual([true]);
  });

  it('prints one document with --json', async () => {
    const stage = await aStage(mixed);
    stage.put('q10');

    const { stdout, exitCode } = await stage.run(listDeadLetters, { json: true });

    const sentAt = '2026-01-02T03:04:05.000Z';
    const problem = 'expected JSON, received 5 characters of something else';
    const q2 = { run: 'demo-r1', id: 'q2', config: 'direct' };
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      stage: 'dev',
      seen: 5,
      unseen: 0,
      interrupted: false,
      byClass: { defect: 1, rejected: 1, transient: 1 },
      cells: [
        {
          ...q2,
          class: 'transient',
          code: 'model-timeout',
          sentAt,
          letterCount: 2,
          now: 'not-attempted',
        },
        {
          ...q2,
          id: 'q10',
          class: 'rejected',
          code: 'content-filtered',
          sentAt,
          letterCount: 1,
          now: 'failed',
        },
        {
          ...q2,
          run: 'demo-r2',
          id: 'q1',
          class: 'defect',
          code: 'worker-died',
          sentAt: null,
          letterCount: 1,
          now: 'not-attempted',
        },
      ],
      unreadable: [{ messageId: 'm5', sentAt, problem }],
    });
  });

  it.each<[string, readonly DeadLetterEntry[], LetterOptions, string]>([
    ['nothing lies there', [], {}, 'no dead letters in stage dev'],
    [
      'nothing is meant',
      mixed,
      { errorClass: 'exhausted' },
      'nothing matched: 5 dead letters in stage dev, none as asked for',
    ],
    [
      'there is only what nobody can read',
      [anUnreadableEntry(), anUnreadableEntry()],
      {},
      '0 cells (0 letters); 2 unreadable messages',
    ],
  ])('says so when %s', async (_, entries, options, text) => {
    const stage = await aStage(entries);

    const outcome = await stage.run(listDeadLetters, options);

    expect(outcome).toEqual({ exitCode: 0, stdout: lines(text), stderr: '' });
  });

  it.each([
    [1, 'about 1 more letter is in the hands of'],
    [7, 'about 7 more letters are in the hands of'],
  ])('says that %i letters could not be looked at', async (unseen, text) => {
    const stage = await aStage([]);

    const outcome = await stage.run(listDeadLetters, {}, (scan) => {
      scan.unseenCount = unseen;
    });

    expect(outcome).toEqual({
      exitCode: 0,
      stdout: lines('no dead letters at hand in stage dev'),
      stderr: lines(
        `${text} another command, or of one that was killed; look again in a few minutes`,
      ),
    });
  });

  it('ends with 130 and what it had when it is stopped', async () => {
    const stage = await aStage(mixed);

    const { exitCode, stdout, stderr } = await stage.run(listDeadLetters, {}, stopAfterFirst);

    expect(exitCode).toBe(130);
    expect(stdout).toMatch(/2 cells \(2 letters\): 1 rejected, 1 transient\n$/);
    expect(stderr).toBe(
      lines('interrupted: there may be more letters; the same command goes on with them'),
    );
  });
});

describe('dlq show', () => {
  it('prints letters, tasks and what is unreadable in full, made harmless', async () => {
    const body = `\u001b]0;owned\u0007${'x'.repeat(400)}`;
    const stage = await aStage([
      ...mixed.slice(0, 4),
      anUnreadableEntry({ messageId: 'm5', body }),
    ]);
    stage.put('q10');

    const { stdout, exitCode } = await stage.run(showDeadLetters);

    const question = 'question questions/abc.jsonl from byte 0, 10 bytes';
    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      lines(
        '── demo-r1 direct q2: not attempted ──',
        'letter m2, sent 2026-01-02T03:04:05.000Z',
        `lane lab, generation 0, ${question}`,
        'error transient/model-timeout: no answer',
        'letter m3, sent 2026-01-02T03:00:00.000Z',
        `lane lab, generation 0, ${question}`,
        'error transient/model-timeout: no answer',
        '',
        '── demo-r1 direct q10: still failed ──',
        'letter m1, sent 2026-01-02T03:04:05.000Z',
        `lane lab, generation 0, ${question}`,
        'error rejected/content-filtered: no, \\x1b[31mno',
        '',
        '── demo-r2 direct q1: not attempted ──',
        'task m4, sent at an unknown time',
        `lane unknown, generation 0, ${question}`,
        'error defect/worker-died: its queue gave the task up: no worker lived to report on it',
        '',
        '── unreadable message m5, sent 2026-01-02T03:04:05.000Z ──',
        'expected JSON, received 5 characters of something else',
        `\\x1b]0;owned\\x07${'x'.repeat(290)}`,
        '(cut, 410 characters in all)',
      ),
    );
  });

  it('prints one document with --json', async () => {
    const stage = await aStage([
      ...mixed.slice(1, 4),
      anUnreadableEntry({ body: `${'x'.repeat(299)}😀` }),
    ]);

    const { stdout } = await stage.run(showDeadLetters, { json: true });

    const { task, error } = aLetterEntry({ id: 'q2' });
    const sentAt = '2026-01-02T03:04:05.000Z';
    const letter = { kind: 'letter', lane: 'lab', task, error };
    expect(JSON.parse(stdout)).toMatchObject({
      stage: 'dev',
      seen: 4,
      byClass: { defect: 1, transient: 1 },
      cells: [
        {
          run: 'demo-r1',
          config: 'direct',
          id: 'q2',
          now: 'not-attempted',
          letters: [
            { messageId: 'm2', sentAt, ...letter },
            { messageId: 'm3', sentAt: '2026-01-02T03:00:00.000Z', ...letter },
          ],
        },
        {
          run: 'demo-r2',
          letters: [
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
      unreadable: [{ messageId: 'unreadable', bodyChars: 301, body: `${'x'.repeat(299)}\uFFFD` }],
    });
  });

  it('says so when nothing is meant', async () => {
    const stage = await aStage(mixed);

    const outcome = await stage.run(showDeadLetters, { config: 'other' });

    const text = 'nothing matched: 5 dead letters in stage dev, none as asked for';
    expect(outcome).toEqual({ exitCode: 0, stdout: lines(text), stderr: '' });
  });
});

describe('dlq replay', () => {
  it('prints cells and letters, and why some stay', async () => {
    const stage = await aStage([
      ...mixed,
      aLetterEntry({ id: 'q3' }, { lane: 'grok' }),
      aLetterEntry({ id: 'q4' }, { lane: 'grok' }),
    ]);
    stage.put('q10', { generation: 1, result: undefined, state: 'claimed' });
    stage.put('q2');

    const outcome = await stage.run(replayDeadLetters);

    expect(outcome).toEqual({
      exitCode: 0,
      stdout: lines(
        'replayed 2 cells (3 letters)',
        'deleted 1 letter of cells that have gone on since',
        'kept 3 letters: 3 that cannot be replayed',
      ),
      stderr: lines(
        '1 letter stays: it is unreadable: there is no task to send',
        '2 letters stay: lane "grok" has no queue',
      ),
    });
    expect(stage.queue.sent.map(({ task }) => task.id)).toEqual(['q2', 'q1']);
  });

  it('minds the run of a label, the config and the class', async () => {
    const stage = await aStage(mixed);
    stage.put('q10');
    stage.put('q2');

    const outcome = await stage.run(replayDeadLetters, {
      run: 'demo-r1',
      config: 'direct',
      errorClass: 'rejected',
    });

    expect(outcome).toEqual({
      exitCode: 0,
      stdout: lines('replayed 1 cell (1 letter)', 'kept 4 letters: 4 not asked for'),
      stderr: '',
    });
    expect(stage.letters.messageIds).toEqual(['m2', 'm3', 'm4', 'm5']);
  });

  it('takes a group for all of its runs', async () => {
    const stage = await aStage(mixed);

    await stage.run(replayDeadLetters, { run: 'demo' });

    expect(stage.letters.messageIds).toEqual(['m5']);
  });

  it('prints one document with --json', async () => {
    const stage = await aStage(mixed);

    const { stdout, stderr } = await stage.run(replayDeadLetters, { json: true });

    expect(JSON.parse(stdout)).toEqual({
      stage: 'dev',
      letters: { seen: 5, matched: 5, replayed: 4, stale: 0, dropped: 0, unreadable: 1, kept: 1 },
      cells: { matched: 3, replayed: 3 },
      problems: [{ problem: 'it is unreadable: there is no task to send', letters: 1 }],
      unseen: 0,
      interrupted: false,
    });
    expect(stderr).toBe(lines('1 letter stays: it is unreadable: there is no task to send'));
  });

  it('ends with 130 and the counts so far when it is stopped', async () => {
    const stage = await aStage(mixed);

    const { exitCode, stdout } = await stage.run(replayDeadLetters, {}, stopAfterFirst);

    expect({ exitCode, stdout }).toEqual({
      exitCode: 130,
      stdout: lines('replayed 2 cells (2 letters)'),
    });
    expect(stage.letters.messageIds).toEqual(['m3', 'm4', 'm5']);
    expect(stage.scans.map(({ isDisposed }) => isDisposed)).toEqual([true]);
  });

  it('says so when nothing is meant', async () => {
    const stage = await aStage(mixed);

    const outcome = await stage.run(replayDeadLetters, { errorClass: 'input' });

    const text = 'nothing matched: 5 dead letters in stage dev, none as asked for';
    expect(outcome).toEqual({ exitCode: 0, stdout: lines(text), stderr: '' });
  });
});

describe('dlq drop', () => {
  it.each<[LetterOptions, readonly string[]]>([
    [{}, ['dropped 5 letters of 3 cells, 1 unreadable']],
    [
      { errorClass: 'transient' },
      ['dropped 2 letters of 1 cell', 'kept 3 letters: 3 not asked for'],
    ],
  ])('of %j prints what it deleted', async (options, texts) => {
    const stage = await aStage(mixed);

    const outcome = await stage.run(dropDeadLetters, options);

    expect(outcome).toEqual({ exitCode: 0, stdout: lines(...texts), stderr: '' });
  });
});

describe('the options of dlq', () => {
  it('name a group that there is', async () => {
    const stage = await aStage(mixed);

    const dropping = stage.run(dropDeadLetters, { run: 'gone' });

    await expect(dropping).rejects.toMatchObject({ code: 'unknown-group' });
    expect(stage.scans).toEqual([]);
  });

  it('name a config that the group has, or are told the nearest', async () => {
    const stage = await aStage(mixed);

    const listing = stage.run(listDeadLetters, { run: 'demo', config: 'dirct' });

    await expect(listing).rejects.toThrow(
      '--config: unknown config "dirct"; did you mean "direct"? (expected direct)',
    );
    expect(stage.scans).toEqual([]);
  });

  it.each(['ls', 'show', 'replay', 'drop'])('of %s ask for a stage', async (name) => {
    const outcome = await callThrice(['dlq', name], { cwd: '/' });

    expect(outcome).toEqual({
      exitCode: 64,
      stdout: '',
      stderr: lines(
        'thrice: expected --stage NAME: only a deployed stage has dead letters. On one machine "thrice status" counts the failed cells, runs/GROUP/RUN/failures_CONFIG.json lists them, and "thrice rerun RUN --failed" runs them again',
      ),
    });
  });

  it('name a class that there is, or are told the nearest', async () => {
    const argv = ['dlq', 'replay', '--stage', 'dev', '--class', 'rejcted'];

    const outcome = await callThrice(argv, { cwd: '/' });

    expect(outcome).toEqual({
      exitCode: 64,
      stdout: '',
      stderr: lines(
        'thrice: --class: unknown class "rejcted"; did you mean "rejected"? (expected input, transient, rate-limited, exhausted, misconfigured, rejected, conflict, defect)',
      ),
    });
  });
});
