import { copyFile, mkdir, readdir, readFile, rename, truncate, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { type Simulator, startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { callThrice, runThrice } from '../support/run-thrice.ts';
import { smallBenchmark } from '../support/small-benchmark.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts';

const questionCount = 300;
const damaged =
  'expected a Thrice database, received a damaged or foreign file; move it away or choose another folder with --dir';

/** A folder with a group whose every question was answered once. */
async function finishedFolder(simulator: Simulator): Promise<TemporaryFolder> {
  const folder = await temporaryFolder(smallBenchmark({ url: simulator.url }));
  const { exitCode } = await callThrice(['run', 'benchmark.toml'], { cwd: folder.path });
  expect(exitCode).toBe(0);
  return folder;
}

function database(folder: TemporaryFolder): string {
  return folder.resolve('.thrice', 'thrice.db');
}

/** Runs commands that must each refuse an unusable store with one line, and returns their outcomes. */
async function refusals(folder: TemporaryFolder, argvs: readonly string[]): Promise<unknown[]> {
  const outcomes: unknown[] = [];
  for (const argv of argvs) {
    const outcome = await callThrice(argv.split(' '), { cwd: folder.path });
    outcomes.push({ ...outcome, stderr: outcome.stderr.replaceAll(folder.path, '<folder>') });
  }
  return outcomes;
}

function refusal(stderr: string): unknown {
  return { exitCode: 69, stdout: '', stderr: `thrice: [store-unusable] ${stderr}\n` };
}

const commands = [
  'run benchmark.toml',
  'resume benchmark',
  'rerun benchmark --failed',
  'cancel benchmark',
  'status',
  'ls',
  'summarize --latest',
  'verify benchmark',
];

describe('on a disk that is full', () => {
  it('a run that cannot be planned leaves nothing half done', async () => {
    await using simulator = await startSimulator();
    await using folder = await temporaryFolder(
      smallBenchmark({ url: simulator.url, questionCount }),
    );
    const cwd = folder.path;

    const stopped = await runThrice(['run', 'benchmark.toml'], {
      cwd,
      shell: `trap '' XFSZ; ulimit -f 8; exec "$@"`,
    });
    const later = await callThrice(['run', 'benchmark.toml'], { cwd });

    expect({ ...stopped, stderr: stopped.stderr.replaceAll(cwd, '<folder>') }).toEqual(
      refusal(
        '<folder>/.thrice/thrice.db: the disk failed to read or write; resume when it works again',
      ),
    );
    expect(later.exitCode).toBe(0);
    expect(simulator.stats().requestCount).toBe(questionCount);
  });
});

describe('in a folder that cannot be written', () => {
  it.each([
    {
      what: 'below a file',
      dir: 'benchmark.toml/runs',
      stderr:
        "<folder>/benchmark.toml/runs: cannot be created (ENOTDIR: not a directory, mkdir '<folder>/benchmark.toml/runs'); choose another folder with --dir",
    },
    {
      what: 'in the place of a file',
      dir: 'benchmark.toml',
      stderr:
        "<folder>/benchmark.toml: cannot be created (EEXIST: file already exists, mkdir '<folder>/benchmark.toml'); choose another folder with --dir",
    },
    {
      what: 'with a folder in the place of its database',
      dir: 'taken',
      stderr:
        "<folder>/taken/thrice.db: cannot be written; check the folder's permissions or choose another with --dir",
    },
    {
      what: 'on a file system that accepts no files, not even from root',
      dir: '/proc',
      stderr:
        "/proc/thrice.db: cannot be written; check the folder's permissions or choose another with --dir",
    },
  ])('a run $what calls no model', async ({ dir, stderr }) => {
    await using simulator = await startSimulator();
    await using folder = await temporaryFolder(smallBenchmark({ url: simulator.url }));
    await mkdir(folder.resolve('taken/thrice.db'), { recursive: true });

    const outcomes = await refusals(folder, [`run benchmark.toml --dir ${dir}`]);

    expect(outcomes).toEqual([refusal(stderr)]);
    expect(simulator.stats().requestCount).toBe(0);
    expect((await callThrice(['run', 'benchmark.toml'], { cwd: folder.path })).exitCode).toBe(0);
  });
});

describe('on a database that is not usable', () => {
  it.each([
    { what: 'garbage', spoil: (file: string) => writeFile(file, Buffer.alloc(9000, 'garbage ')) },
    { what: 'cut off', spoil: (file: string) => truncate(file, 20_000) },
    { what: 'overwritten after its first pages', spoil: overwriteEnd },
  ])(
    'every command refuses one that is $what, and resume works with the good one',
    async ({ spoil }) => {
      await using simulator = await startSimulator();
      await using folder = await finishedFolder(simulator);
      const file = database(folder);
      await copyFile(file, `${file}.good`);
      await spoil(file);
      const { requestCount } = simulator.stats();

      const outcomes = await refusals(folder, commands);
      await rename(`${file}.good`, file);
      const resumed = await callThrice(['resume', 'benchmark'], { cwd: folder.path });

      expect(outcomes).toEqual(
        commands.map(() => refusal(`<folder>/.thrice/thrice.db: ${damaged}`)),
      );
      expect(resumed.exitCode).toBe(0);
      expect(simulator.stats().requestCount).toBe(requestCount);
    },
  );

  it("every command refuses another program's database and leaves it as it is", async () => {
    await using simulator = await startSimulator();
    await using folder = await temporaryFolder(smallBenchmark({ url: simulator.url }));
    await mkdir(folder.resolve('.thrice'));
    execute(database(folder), 'CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES (1)');
    const before = await readFile(database(folder));

    const outcomes = await refusals(folder, commands);

    expect(outcomes).toEqual(
      commands.map(() =>
        refusal(
          "<folder>/.thrice/thrice.db: expected a Thrice database, received another program's SQLite file; choose another folder with --dir",
        ),
      ),
    );
    expect(await readFile(database(folder))).toEqual(before);
    expect(await readdir(folder.resolve('.thrice'))).toEqual(['thrice.db']);
    expect(simulator.stats().requestCount).toBe(0);
  });

  it('every command refuses a database of a newer version and leaves it as it is', async () => {
    await using simulator = await startSimulator();
    await using folder = await finishedFolder(simulator);
    const { requestCount } = simulator.stats();
    const version = versionOf(database(folder));
    execute(database(folder), 'PRAGMA user_version = 99');
    const before = await readFile(database(folder));

    const outcomes = await refusals(folder, commands);
    const after = await readFile(database(folder));
    execute(database(folder), `PRAGMA user_version = ${version}`);
    const resumed = await callThrice(['resume', 'benchmark'], { cwd: folder.path });

    expect(outcomes).toEqual(
      commands.map(() =>
        refusal(
          `<folder>/.thrice/thrice.db: expected a database of version ${version} or older, received version 99; update Thrice`,
        ),
      ),
    );
    expect(after).toEqual(before);
    expect(resumed.exitCode).toBe(0);
    expect(simulator.stats().requestCount).toBe(requestCount);
  });
});

/** Keeps the header and the schema intact: the damage shows only when a cell is read. */
async function overwriteEnd(file: string): Promise<void> {
  const bytes = await readFile(file);
  bytes.fill(0xa5, 8192);
  await writeFile(file, bytes);
}

function versionOf(file: string): number {
  using opened = new DatabaseSync(file);
  return Number(opened.prepare('PRAGMA user_version').get()?.['user_version']);
}

function execute(file: string, sql: string): void {
  using opened = new DatabaseSync(file);
  opened.exec(sql);
}
