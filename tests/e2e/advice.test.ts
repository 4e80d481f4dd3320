import { readFileSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Fault, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { callThrice, type Outcome } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';

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

const once = { count: 1 };

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
