import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../../packages/local/src/store/open-database.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** Starting processes can be slow on a busy machine. */
const PROCESS_TIMEOUT_MS = 60_000;

const source = resolve(import.meta.dirname, '../../../packages/local/src/store/open-database.ts');

function pragma(database: DatabaseSync, name: string): unknown {
  return database.prepare(`PRAGMA ${name}`).get()?.[name];
}

function tablesOf(database: DatabaseSync): unknown[] {
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
  return database
    .prepare(`${sql} ORDER BY name`)
    .all()
    .map(({ name }) => name);
}

describe('openDatabase', () => {
  it('creates the file, its folders and its tables', async () => {
    await using folder = await temporaryFolder();

    using database = openDatabase(folder.resolve('deep', 'er', 'thrice.db'));

    expect(tablesOf(database)).toEqual([
      'batched_calls',
      'batches',
      'budget_accounts',
      'calls',
      'cells',
      'groups',
      'lanes',
      'notifications',
      'open_breakers',
      'question_files',
      'reservations',
      'shared_calls',
      'submissions',
      'tallies',
      'tasks',
      'workers',
    ]);
  });

  it('commits durably, so that the machine may crash at any time', async () => {
    await using folder = await temporaryFolder();

    using database = openDatabase(folder.resolve('thrice.db'));

    expect(pragma(database, 'journal_mode')).toBe('wal');
    // 2 is FULL: https://www.sqlite.org/pragma.html#pragma_synchronous
    expect(pragma(database, 'synchronous')).toBe(2);
    expect(pragma(database, 'application_id')).toBe(0x54687263);
  });

  it('finds what was stored when it opens a file again', async () => {
    await using folder = await temporaryFolder();
    const file = folder.resolve('thrice.db');
    const before = openDatabase(file);
    before.exec("INSERT INTO open_breakers VALUES ('lab', '{}')");
    before.close();

    using database = openDatabase(file);

    expect(database.prepare('SELECT breaker_key FROM open_breakers').all()).toEqual([
      { breaker_key: 'lab' },
    ]);
  });

  it('opens an empty file as a new database', async () => {
    await using folder = await temporaryFolder({ 'thrice.db': '' });

    using database = openDatabase(folder.resolve('thrice.db'));

    expect(tablesOf(database)).toContain('cells');
  });

  it("does not change another program's SQLite file", async () => {
    await using folder = await temporaryFolder();
    const file = folder.resolve('thrice.db');
    const foreign = new DatabaseSync(file);
    foreign.exec('CREATE TABLE bookmarks (url TEXT); PRAGMA user_version = 1');
    foreign.close();

    expect(() => openDatabase(file)).toThrow(
      expect.objectContaining({
        code: 'store-unusable',
        message: `${file}: expected a Thrice database, received another program's SQLite file; choose another folder with --dir`,
      } satisfies Partial<ThriceError>),
    );

    using untouched = new DatabaseSync(file);
    expect(tablesOf(untouched)).toEqual(['bookmarks']);
    expect(pragma(untouched, 'journal_mode')).toBe('delete');
  });

  it('rejects a file of a newer version and says so', async () => {
    await using folder = await temporaryFolder();
    const file = folder.resolve('thrice.db');
    const newer = openDatabase(file);
    newer.exec('PRAGMA user_version = 999');
    newer.close();

    expect(() => openDatabase(file)).toThrow(
      expect.objectContaining({
        code: 'store-unusable',
        message: expect.stringContaining('received version 999; update Thrice') as string,
      }),
    );
  });

  it('rejects a file of a version that was never released', async () => {
    await using folder = await temporaryFolder();
    const file = folder.resolve('thrice.db');
    const older = openDatabase(file);
    older.exec('PRAGMA user_version = 1');
    older.close();

    expect(() => openDatabase(file)).toThrow(
      expect.objectContaining({
        code: 'store-unusable',
        message: expect.stringContaining('received version 1, which was never released') as string,
      }),
    );
  });

  it('has a version for each schema: raise it when the digest changes', () => {
    using database = openDatabase(':memory:');

    const sql = database.prepare('SELECT sql FROM sqlite_schema ORDER BY name').all();
    const digest = createHash('sha256').update(JSON.stringify(sql)).digest('hex').slice(0, 12);
    expect({ version: pragma(database, 'user_version'), digest }).toEqual({
      version: 12,
      digest: '3528ded03145',
    });
  });

  it('rejects a file that is not a database', async () => {
    await using folder = await temporaryFolder();
    const file = folder.resolve('thrice.db');
    await writeFile(file, 'this is not a database, however long it may be\n'.repeat(100));

    expect(() => openDatabase(file)).toThrow(
      expect.objectContaining({
        code: 'store-unusable',
        message: expect.stringContaining('received a damaged or foreign file') as string,
      }),
    );
  });

  it('rejects a folder in place of the file', async () => {
    await using folder = await temporaryFolder({ 'thrice.db/file': '' });

    expect(() => openDatabase(folder.resolve('thrice.db'))).toThrow(
      expect.objectContaining({ code: 'store-unusable' }),
    );
  });

  it('names the folder that cannot be created', async () => {
    await using folder = await temporaryFolder({ file: 'in the way' });

    expect(() => openDatabase(folder.resolve('file', 'sub', 'thrice.db'))).toThrow(
      expect.objectContaining({
        code: 'store-unusable',
        message: expect.stringContaining(
          `${folder.resolve('file', 'sub')}: cannot be created`,
        ) as string,
      }),
    );
  });

  it(
    'lets several processes create the same file at once, ten times',
    async () => {
      await using folder = await temporaryFolder();
      const files = Array.from({ length: 10 }, (_, round) => folder.resolve(`${round}/thrice.db`));
      const script = `
      const { openDatabase } = await import(${JSON.stringify(pathToFileURL(source).href)});
      const files = ${JSON.stringify(files)};
      process.stdout.write('ready');
      process.stdin.on('data', () => {
        try {
          const database = openDatabase(files.shift());
          database.prepare('INSERT INTO open_breakers VALUES (?, ?)').run(String(process.pid), '{}');
          database.close();
          process.stdout.write('opened');
        } catch (error) {
          process.stdout.write(error.message);
        }
      });`;
      const children = Array.from({ length: 4 }, () =>
        spawn(process.execPath, ['--input-type=module', '--eval', script]),
      );
      const hear = async () => {
        const heard = await Promise.all(children.map(({ stdout }) => once(stdout, 'data')));
        return heard.map(String);
      };
      await hear();

      const heard: string[][] = [];
      for (const _file of files) {
        const opened = hear();
        for (const { stdin } of children) stdin.write('go');
        heard.push(await opened);
      }
      const closed = children.map((child) => once(child, 'close'));
      for (const { stdin } of children) stdin.end();
      await Promise.all(closed);

      expect(heard).toEqual(files.map(() => Array(children.length).fill('opened')));
      for (const file of files) {
        using database = openDatabase(file);
        const row = database.prepare('SELECT count(*) AS count FROM open_breakers').get();
        expect(row).toEqual({ count: children.length });
      }
    },
    PROCESS_TIMEOUT_MS,
  );

  it.each([
    { what: 'reads the new file', sql: 'BEGIN; SELECT * FROM sqlite_schema' },
    { what: 'starts to write it', sql: 'BEGIN IMMEDIATE' },
    { what: 'writes it', sql: 'BEGIN EXCLUSIVE' },
    { what: 'creates its tables', sql: 'PRAGMA journal_mode = WAL; BEGIN EXCLUSIVE' },
  ])(
    'waits while another process $what',
    async ({ sql }) => {
      await using folder = await temporaryFolder();
      const file = folder.resolve('thrice.db');
      const script = `
      const { DatabaseSync } = require('node:sqlite');
      const database = new DatabaseSync(${JSON.stringify(file)});
      for (const statement of ${JSON.stringify(sql.split('; '))}) database.prepare(statement).all();
      process.stdout.write('locked');
      setTimeout(() => database.close(), 500);`;
      const holder = spawn(process.execPath, ['--eval', script]);
      const closed = once(holder, 'close');
      await Promise.race([once(holder.stdout, 'data'), closed]);

      using database = openDatabase(file);

      expect(tablesOf(database)).toContain('cells');
      expect(await closed).toEqual([0, null]);
    },
    PROCESS_TIMEOUT_MS,
  );
});
