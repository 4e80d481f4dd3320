import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Intercept, jsonResponse } from '@thrice/local-cloud';
import { type Fault, type Simulator, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { runCommand } from '../../packages/cli/src/main.ts';
import { openCloud, type StackChanges } from '../support/cloud.ts';
import {
  callThrice,
  fakeTerminal,
  type Outcome,
  type RunningThrice,
  startThrice,
} from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { stageBenchmark, thriceIn } from '../support/stage.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';
import { waitUntil, waitUntilShown } from '../support/wait-until.ts';

const page = readFileSync(resolve(import.meta.dirname, '../../docs/errors.md'), 'utf8');

/** The commands that `docs/errors.md` advises for a code. */
function advisedCommands(code: string): readonly string[] {
  const row = page.split('\n').find((line) => line.startsWith(`| \`${code}\``)) ?? '';
  const advice = row.split('|').at(-3) ?? '';
  return [...advice.matchAll(/`(thrice [^`]+)`/g)].map(([, command = '']) => command);
}

/** A folder with a benchmark of four questions against a simulator with these faults. */
async function startTrial(faults: readonly Fault[], line = '') {
  const simulator = await startSimulator({ faults: { seed: 1, faults: [...faults] } });
  const top = `max_attempts = 1\nparallel = 1\n${line}`;
  const folder = await temporaryFolder(smallBenchmark({ url: simulator.url, top }));
  return {
    folder,
    simulator,
    [Symbol.asyncDispose]: async () => {
      await folder[Symbol.asyncDispose]();
      await simulator[Symbol.asyncDispose]();
    },
  };
}

const call = (folder: TemporaryFolder, argv: readonly string[]) =>
  callThrice(argv, { cwd: folder.path });

/** Runs a command as the page writes it. */
async function follow(command: string, folder: TemporaryFolder): Promise<Outcome> {
  const names: Readonly<Record<string, string>> = {
    GROUP: 'trial',
    RUN: 'trial',
    CONFIG: 'a',
    ID: 'q1',
    SPEC: 'benchmark.toml',
    FILE: 'benchmark.toml',
  };
  const [, ...argv] = command.split(' ').map((word) => names[word] ?? word);
  return await call(folder, argv[0] === 'show' ? await nameRun(argv, folder) : argv);
}

/** `show` takes the name of a run. */
async function nameRun(
  argv: readonly string[],
  folder: TemporaryFolder,
): Promise<readonly string[]> {
  const { stdout } = await call(folder, ['status', '--json']);
  const { group } = JSON.parse(stdout) as { readonly group: string };
  return argv.map((word) => (word === 'trial' ? `${group}-r1` : word));
}

/** Starts a run in a process of its own, and waits for its first call. */
async function startRun(folder: TemporaryFolder, simulator: Simulator): Promise<RunningThrice> {
  const argv = ['run', 'benchmark.toml', '--label', 'trial'];
  const running = startThrice(argv, { cwd: folder.path });
  await waitUntil('the first call is made', () => simulator.stats().requestCount > 0);
  return running;
}

const once = { count: 1 };

/** A function has no time for a second call of 50 seconds: its task is sent again. */
const shortTimes: StackChanges = {
  functions: { Answer: { timeoutSeconds: 60 } },
  queues: { LaneSim: { visibilitySeconds: 61 } },
};

const sentTasks = z.object({
  Entries: z.array(z.looseObject({ Id: z.string(), MessageBody: z.string() })),
});

/** Sends the planned tasks as they are after a week of refusals. */
const sentAgainForAWeek: Intercept = async ({ operation, input }, proceed) => {
  const batch = sentTasks.safeParse(input);
  const isPlanned = batch.data?.Entries[0]?.MessageBody.includes('"generation":0');
  if (operation !== 'SendMessageBatch' || !batch.success || isPlanned !== true)
    return await proceed();
  const since = '2026-01-01T00:00:00.000Z';
  const resends = { count: 100, since, code: 'model-rate-limited' };
  const Entries = batch.data.Entries.map((entry) => ({
    ...entry,
    MessageBody: JSON.stringify({ ...(JSON.parse(entry.MessageBody) as object), resends }),
  }));
  await proceed({ input: { ...input, Entries } });
  // The client compares the digests of what it sent.
  const Successful = batch.data.Entries.map(({ Id, MessageBody }) => ({
    Id,
    MessageId: Id,
    MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'),
  }));
  return jsonResponse({ Successful, Failed: [] });
};

describe('the advice of docs/errors.md', () => {
  it.each([
    { code: 'model-unavailable', fault: { kind: 'server-error', ...once }, exitCode: 1 },
    { code: 'quota-exhausted', fault: { kind: 'quota', ...once }, exitCode: 2 },
    { code: 'auth-failed', fault: { kind: 'unauthorized', ...once }, exitCode: 2 },
  ] satisfies readonly {
    readonly code: string;
    readonly fault: Fault;
    readonly exitCode: number;
  }[])('completes a run that ended with $code', async ({ code, fault, exitCode }) => {
    await using trial = await startTrial([fault]);
    const { folder } = trial;

    const ran = await call(folder, ['run', 'benchmark.toml', '--label', 'trial']);
    const followed: Outcome[] = [];
    for (const command of advisedCommands(code)) followed.push(await follow(command, folder));
    const status = await call(folder, ['status', '--json']);

    expect(ran.exitCode).toBe(exitCode);
    expect(ran.stderr).toMatch(new RegExp(`\\b${code}\\b`));
    expect(followed.map((outcome) => outcome.exitCode)).toEqual([0]);
    expect(JSON.parse(status.stdout)).toMatchObject({ state: 'complete', next: null });
  });

  it('asks again what took too long, once the time limit is raised (model-timeout)', async () => {
    await using trial = await startTrial([{ kind: 'hang', ...once }], 'timeout_s = 1');
    const { folder } = trial;
    const ran = await call(folder, ['run', 'benchmark.toml', '--label', 'trial']);
    const spec = await readFile(folder.resolve('benchmark.toml'), 'utf8');
    await writeFile(
      folder.resolve('benchmark.toml'),
      spec.replace('timeout_s = 1', 'timeout_s = 60'),
    );

    const followed: Outcome[] = [];
    for (const command of advisedCommands('model-timeout')) {
      followed.push(await follow(command, folder));
    }

    expect(ran.stderr).toMatch(
      /1 x model-timeout: no answer within 1 s; raise timeout_s, then thrice resume \S+ --spec \S*benchmark\.toml\n/,
    );
    expect([ran, ...followed].map(({ exitCode }) => exitCode)).toEqual([1, 1, 0]);
  });

  it('takes the edits that leave the questions asked as they were, once the others are undone (spec-changed)', async () => {
    await using trial = await startTrial([]);
    const { folder } = trial;
    await call(folder, ['run', 'benchmark.toml', '--label', 'trial']);
    const spec = await readFile(folder.resolve('benchmark.toml'), 'utf8');
    const [command = ''] = advisedCommands('spec-changed');

    await writeFile(folder.resolve('benchmark.toml'), `${spec}\ntemperature = 1\n`);
    const refused = await follow(command, folder);
    await writeFile(folder.resolve('benchmark.toml'), `timeout_s = 60\n${spec}`);
    const taken = await follow(command, folder);

    expect(refused).toMatchObject({ exitCode: 64 });
    expect(refused.stderr).toContain('[spec-changed]');
    expect(taken).toMatchObject({ exitCode: 0 });
    expect(taken.stderr).toContain('edited: timeout_s: was 120, is 60');
  });

  it('rewrites a damaged result file from the ledger (invalid-file)', async () => {
    await using trial = await startTrial([]);
    const { folder } = trial;
    await call(folder, ['run', 'benchmark.toml', '--label', 'trial']);
    const { group } = JSON.parse((await call(folder, ['status', '--json'])).stdout) as {
      readonly group: string;
    };
    await writeFile(folder.resolve('.thrice/runs', group, 'summary.json'), '{');
    await rm(folder.resolve('.thrice/runs', group, 'summary.md'));
    const damaged = await call(folder, ['verify', 'trial']);

    const [command = ''] = advisedCommands('invalid-file');
    const followed = await follow(command, folder);
    const verified = await call(folder, ['verify', 'trial']);

    expect([damaged, followed, verified].map(({ exitCode }) => exitCode)).toEqual([2, 0, 0]);
  });

  it('continues once the lock of another process is gone (store-unavailable)', async () => {
    await using trial = await startTrial([{ kind: 'quota', ...once }]);
    const { folder } = trial;
    await call(folder, ['run', 'benchmark.toml', '--label', 'trial']);
    const [command = ''] = advisedCommands('store-unavailable');
    const other = new DatabaseSync(folder.resolve('.thrice/thrice.db'));
    // So that it keeps readers out, too: writers of a run wait for minutes.
    other.exec('PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE');

    const locked = await follow(command, folder);
    other.close();
    const followed = await follow(command, folder);

    expect(locked).toMatchObject({ exitCode: 69 });
    expect(locked.stderr).toContain('thrice: [store-unavailable] ');
    expect(followed).toMatchObject({ exitCode: 0 });
  });

  it.each([
    { what: 'ledger', path: '.thrice/thrice.db' },
    { what: 'folder of results', path: '.thrice/runs' },
  ])(
    'continues once the $what that the message names is repaired (store-unusable)',
    async ({ path }) => {
      await using trial = await startTrial([{ kind: 'quota', ...once }]);
      const { folder } = trial;
      await call(folder, ['run', 'benchmark.toml', '--label', 'trial']);
      const [command = ''] = advisedCommands('store-unusable');
      await rename(folder.resolve(path), folder.resolve('kept'));
      await writeFile(folder.resolve(path), 'no longer what it was'.repeat(100));

      const damaged = await follow(command, folder);
      await rm(folder.resolve(path));
      await rename(folder.resolve('kept'), folder.resolve(path));
      const followed = await follow(command, folder);

      expect(damaged).toMatchObject({ exitCode: 69 });
      expect(damaged.stderr).toContain('thrice: [store-unusable] ');
      expect(damaged.stderr).toContain(path);
      expect(followed).toMatchObject({ exitCode: 0 });
    },
  );

  it('asks what was in flight when the user stopped the command (interrupted)', async () => {
    await using trial = await startTrial([{ kind: 'hang', ...once }]);
    const { folder, simulator } = trial;
    await using running = await startRun(folder, simulator);
    running.child.kill('SIGINT');
    await running.prints(/press Ctrl-C again/i);
    running.child.kill('SIGINT');
    const stopped = await running.ended;

    const [command = ''] = advisedCommands('interrupted');
    const followed = await follow(command, folder);

    expect([stopped, followed].map(({ exitCode }) => exitCode)).toEqual([130, 0]);
  });

  it('asks anew the cell whose worker died in its last attempt (worker-died)', async () => {
    await using trial = await startTrial([{ kind: 'hang', ...once }]);
    const { folder, simulator } = trial;
    await using running = await startRun(folder, simulator);
    running.child.kill('SIGKILL');
    await running.ended;
    // As if on another machine, where nobody sees that it is dead: its lease has to expire, and does.
    const ledger = new DatabaseSync(folder.resolve('.thrice/thrice.db'));
    ledger.exec(`UPDATE workers SET host = 'another';
      UPDATE cells SET lease_until = 0; UPDATE tasks SET visible_at = 0`);
    ledger.close();
    const resumed = await call(folder, ['resume', 'trial']);

    const [command = ''] = advisedCommands('worker-died');
    const followed = await follow(command, folder);

    expect(resumed).toMatchObject({ exitCode: 1 });
    expect(resumed.stderr).toMatch(/ x worker-died: gave up after 1 attempt: the last worker died/);
    expect(followed).toMatchObject({ exitCode: 0 });
  });

  it('asks anew the cell whose task was sent again for a week, once the reason is gone (no-progress)', async () => {
    await using simulator = await startSimulator({
      faults: { seed: 1, faults: [{ kind: 'rate-limit', retryAfterSeconds: 20, ...once }] },
    });
    await using folder = await temporaryFolder(
      stageBenchmark({ url: simulator.url, questionCount: 1, top: 'timeout_s = 50' }),
    );
    await using cloud = await openCloud({
      changes: shortTimes,
      intercept: sentAgainForAWeek,
      tickSeconds: 1,
    });
    const ran = await thriceIn(cloud, folder.path, 'run', 'benchmark.toml', '--label', 'trial');

    const [command = ''] = advisedCommands('no-progress');
    const [, ...argv] = command.split(' ').filter((word) => !['--stage', 'NAME'].includes(word));
    const followed = await thriceIn(cloud, folder.path, ...argv);
    await waitUntilShown('the cell is answered', async () => {
      const { stdout } = await thriceIn(cloud, folder.path, 'status', 'trial', '--json');
      return (JSON.parse(stdout) as { readonly state: string }).state === 'complete';
    });

    expect(ran).toMatchObject({ exitCode: 1 });
    expect(ran.stderr).toContain('1 x no-progress: gave up: sent again 101 times since 2026-01-01');
    expect(command).toContain('--stage NAME');
    expect(followed).toMatchObject({ exitCode: 0 });
    expect(followed.stdout).toContain('replayed 1 cell');
  });

  it('continues what a bug has ended (invariant-violated)', async () => {
    await using trial = await startTrial([]);
    const { folder } = trial;
    const argv = ['run', 'benchmark.toml', '--label', 'trial'];
    const terminal = fakeTerminal({ workingFolder: folder.path, commandLine: argv });
    // Where the name of the new group is printed.
    terminal.print = () => {
      throw new TypeError('no such field');
    };
    const exitCode = await runCommand(argv, terminal);

    const [command = ''] = advisedCommands('invariant-violated');
    const followed = await follow(command, folder);

    expect(exitCode).toBe(70);
    expect(terminal.stderr).toContain('thrice: [invariant-violated] no such field\n');
    expect(followed).toMatchObject({ exitCode: 0 });
  });

  it.each([
    { code: 'invalid-spec', prints: '"$schema"' },
    { code: 'unknown-group', prints: 'trial-' },
    { code: 'unclassified', prints: '[model-unavailable] 500' },
    { code: 'unknown-model', prints: 'ok   benchmark.toml: 4 questions' },
    { code: 'connection-failed', prints: 'reachable' },
  ])('shows what helps with $code', async ({ code, prints }) => {
    await using trial = await startTrial([{ kind: 'server-error', ...once }]);
    const { folder } = trial;
    await call(folder, ['run', 'benchmark.toml', '--label', 'trial']);

    const commands = advisedCommands(code);
    const outcome = await follow(commands[0] ?? '', folder);

    expect(commands).toHaveLength(1);
    expect(outcome.stdout).toContain(prints);
  });

  it('names only commands and options that exist', async () => {
    const commands = [...page.matchAll(/`(thrice [a-z][^`]*)`/g)].map(
      ([, command = '']) => command,
    );

    for (const command of new Set(commands)) {
      const [, ...words] = command.split(' ');
      const names = words.filter((word) => /^[a-z]+$/.test(word));
      const { exitCode, stdout } = await callThrice([...names, '--help'], { cwd: '/' });
      expect(exitCode, command).toBe(0);
      for (const option of words.filter((word) => word.startsWith('--'))) {
        expect(stdout, command).toContain(option);
      }
    }
  });
});
