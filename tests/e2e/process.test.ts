import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { aCompletion, sendJson, startHttpServer } from '../support/http-server.ts';
import { callThrice, runThrice, startThrice } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { endOf, waitUntilShown } from '../support/wait-until.ts';

/** Makes a process believe that it runs on an old Node, on a terminal. */
const oldNode =
  "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.0.0'});process.stdin.isTTY=true";

/** Makes a process warn when it ends, as early releases of Node 24 warn of their SQLite. */
const warningNode =
  "data:text/javascript,process.once('beforeExit',()=>{process.emitWarning('old','ExperimentalWarning');process.emitWarning('bad','DeprecationWarning')})";

describe('a thrice process', () => {
  it('hides warnings about experimental features, and no others', async () => {
    const outcome = await runThrice(['--version'], {
      cwd: '/',
      shell: `exec "$1" --import "${warningNode}" "\${@:2}"`,
    });

    expect(outcome.exitCode).toBe(0);
    expect(outcome.stderr).toContain('DeprecationWarning: bad');
    expect(outcome.stderr).not.toContain('ExperimentalWarning');
  });

  it.runIf(existsSync('/dev/full'))('reports in one line that stdout is full', async () => {
    await using folder = await temporaryFolder();

    const outcome = await runThrice(['schema'], { cwd: folder.path, shell: '"$@" > /dev/full' });

    expect(outcome.exitCode).toBe(69);
    expect(outcome.stderr).toMatch(
      /^thrice: \[store-unusable\] stdout: cannot be written \(ENOSPC[^\n]*\n$/,
    );
  });

  it('forwards SIGTERM to the newer Node that it started', async () => {
    await using folder = await temporaryFolder();
    await using thrice = startThrice(['simulate'], {
      cwd: folder.path,
      shell: `exec "$1" --import "${oldNode}" "\${@:2}"`,
    });
    await thrice.prints(/^http/);

    thrice.child.kill('SIGTERM');

    expect(await endOf(thrice)).toMatchObject({
      exitCode: 0,
      stderr: '0 requests, 0 answered\n',
    });
  });
});

describe('a newer Node that an old one has started', () => {
  it('stops when the old one is killed', async () => {
    await using folder = await temporaryFolder();
    await using thrice = startThrice(['simulate'], {
      cwd: folder.path,
      shell: `exec "$1" --import "${oldNode}" "\${@:2}"`,
    });
    await thrice.prints(/^http/);

    thrice.child.kill('SIGKILL');

    expect((await endOf(thrice)).stderr).toBe('0 requests, 0 answered\n');
  });
});

describe('a run in the background', () => {
  it('is at work when its command returns, and is named in the JSON output', async () => {
    const answered = Promise.withResolvers<void>();
    await using server = await startHttpServer((response) => {
      void answered.promise.then(() =>
        sendJson(response, aCompletion({ content: '42' }, { model: 'a' })),
      );
    });
    await using folder = await temporaryFolder(smallBenchmark({ url: server.url }));
    const { path: cwd } = folder;

    // Loads the status command now: loading it later would give the background process time to start.
    await callThrice(['status'], { cwd });

    const started = await runThrice(['run', 'benchmark.toml', '--detach', '--json'], { cwd });
    const status = await callThrice(['status', '--json'], { cwd });

    answered.resolve();
    await waitUntilShown('the group is complete', async () => {
      const { stdout } = await callThrice(['status', '--json'], { cwd });
      return (JSON.parse(stdout) as { state: string }).state === 'complete';
    });
    const { group } = JSON.parse(started.stdout) as { group: string };
    expect(JSON.parse(status.stdout)).toMatchObject({ group, state: 'running', workers: 1 });
  });
});
