import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { ThriceError } from '@thrice/core';
import { GuardedDatabase } from './guarded-database.ts';
import { makeFolder } from './make-folder.ts';
import { mapSqliteError } from './map-sqlite-error.ts';
import { firstMigration } from './migrations/0001-first.ts';

/** "Thrc": distinguishes Thrice's files from other programs' SQLite files. */
const APPLICATION_ID = 0x54687263;
/**
 * Each migration leads to the next version. Before the first release a changed schema is no migration of its own:
 * the first one changes, and so does the version that it leads to.
 */
const MIGRATIONS = [firstMigration];
const FIRST_VERSION = 12;
const VERSION = FIRST_VERSION + MIGRATIONS.length - 1;
/** Pause between two attempts to switch a new file to WAL, ms. */
const WAL_RETRY_MS = 10;
/** How long opening waits for another process's transaction. */
const OPEN_TIMEOUT_MS = 10_000;
/** How long a statement waits, which blocks the event loop. `GroupCommit` retries after that. */
const BUSY_TIMEOUT_MS = 1_000;

/**
 * Opens the database of a local engine, creating or upgrading it if needed.
 *
 * Uses WAL with full synchronization, so committed data survives a crash of the machine.
 *
 * @param file - A path, or `:memory:`.
 * @throws {ThriceError} `store-unusable` if the file is damaged, unwritable, from a newer or an unreleased version,
 *   or not a Thrice database.
 */
export function openDatabase(file: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    if (file !== ':memory:') makeFolder(dirname(file));
    database = new GuardedDatabase(file, { timeout: OPEN_TIMEOUT_MS });
    checkOwnership(database, file);
    switchToWal(database, file);
    database.exec('PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY');
    migrate(database);
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    return database;
  } catch (error) {
    database?.close();
    throw isFolderError(error) ? unwritable(file, error) : mapSqliteError(error, file);
  }
}

/**
 * Switches the file to WAL, once.
 *
 * SQLite does not wait for its busy timeout here: while another process switches the same new file, it
 * answers busy at once. So this waits itself, blocking as every other statement does.
 *
 * @see https://www.sqlite.org/wal.html#sometimes_queries_return_sqlite_busy_in_wal_mode (2026-11)
 */
function switchToWal(database: DatabaseSync, file: string): void {
  const endsAtMs = performance.now() + OPEN_TIMEOUT_MS;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      const isBusy = mapSqliteError(error, file).code === 'store-unavailable';
      if (!isBusy || performance.now() >= endsAtMs) throw error;
      Atomics.wait(pause, 0, 0, WAL_RETRY_MS);
    }
  }
}

function checkOwnership(database: DatabaseSync, file: string): void {
  // Read before the id, because another process may be committing the first tables and the id together.
  const isEmpty = database.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined;
  const applicationId = readPragma(database, 'application_id');
  const version = readPragma(database, 'user_version');
  if (!isEmpty && applicationId !== APPLICATION_ID) {
    throw new ThriceError({
      code: 'store-unusable',
      message: `${file}: expected a Thrice database, received another program's SQLite file; choose another folder with --dir`,
    });
  }
  if (version > VERSION) {
    throw new ThriceError({
      code: 'store-unusable',
      message: `${file}: expected a database of version ${VERSION} or older, received version ${version}; update Thrice`,
    });
  }
  if (version > 0 && version < FIRST_VERSION) {
    throw new ThriceError({
      code: 'store-unusable',
      message: `${file}: expected a database of version ${FIRST_VERSION} or newer, received version ${version}, which was never released; finish its groups with the commit that wrote it, or choose another folder with --dir`,
    });
  }
}

function migrate(database: DatabaseSync): void {
  if (readPragma(database, 'user_version') === VERSION) return;
  database.exec('BEGIN EXCLUSIVE');
  // Read again, because another process may have upgraded the file while this one waited.
  const version = readPragma(database, 'user_version');
  const done = version === 0 ? 0 : version - FIRST_VERSION + 1;
  for (const migration of MIGRATIONS.slice(done)) database.exec(migration);
  database.exec(
    `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${VERSION}; COMMIT`,
  );
}

function readPragma(database: DatabaseSync, name: 'application_id' | 'user_version'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}

function isFolderError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'mkdir';
}

function unwritable(file: string, cause: unknown): ThriceError {
  return new ThriceError({
    code: 'store-unusable',
    message: `${dirname(file)}: cannot be created (${cause instanceof Error ? cause.message : String(cause)}); choose another folder with --dir`,
    cause,
  });
}
