import { ThriceError, toThriceError } from '@thrice/core';

/** Primary result codes, https://www.sqlite.org/rescode.html (2026-11). */
const SQLITE = {
  busy: 5,
  locked: 6,
  readonly: 8,
  ioerr: 10,
  corrupt: 11,
  full: 13,
  cantOpen: 14,
  protocol: 15,
  notADb: 26,
};

/** Extended result codes of a file that does not take writes, https://www.sqlite.org/rescode.html (2026-11). */
const WRITE_FAILURES = {
  write: 778,
  fsync: 1034,
  truncate: 1546,
  shmOpen: 4618,
  shmSize: 4874,
  shmMap: 5386,
};

/** SQLite's own code for a file that was moved or deleted while it is open. */
const MOVED = 1032;

/** Why a database takes no writes. */
export interface WriteProblem {
  /** With what to do about it. */
  readonly reason: string;
  /** The file was deleted: it takes no writes ever again, and what it held is gone. */
  readonly isDeleted: boolean;
}

/** Maps errors of `node:sqlite` to a {@link ThriceError}; wraps any other error as a bug. */
export function mapSqliteError(thrown: unknown, file: string): ThriceError {
  if (thrown instanceof ThriceError) return thrown;
  const problem = describe(primaryCode(thrown), file);
  if (problem === undefined) return toThriceError(thrown);
  return new ThriceError({ ...problem, cause: thrown });
}

/** Creates the error of a database whose file was moved or deleted. */
export function movedDatabase(isDeleted: boolean): Error {
  return Object.assign(new Error('the file was moved or deleted'), { errcode: MOVED, isDeleted });
}

/**
 * Describes why a database takes no writes, and what to do about it, in case it may take the same writes later.
 *
 * @returns Undefined for other failures: a damaged file will not be repaired by waiting.
 */
export function describeUnwritable(thrown: unknown, file: string): WriteProblem | undefined {
  const isDeleted = thrown instanceof Error && 'isDeleted' in thrown && thrown.isDeleted === true;
  const reason = isDeleted
    ? `${file} was deleted, and with it all that it held; stop, then start a new run`
    : describeReason(extendedCode(thrown), file);
  return reason === undefined ? undefined : { reason, isDeleted };
}

function describeReason(code: number | undefined, file: string): string | undefined {
  if (code === undefined) return undefined;
  if (code === MOVED)
    return `${file} was moved; move the same file back, as this process does not recognize a copy`;
  if (Object.values(WRITE_FAILURES).includes(code))
    return `${file}: the disk takes no more writes; free some space or raise the limit`;
  switch (code & 0xff) {
    case SQLITE.full:
      return `${file}: the disk is full; free some space`;
    case SQLITE.readonly:
    case SQLITE.cantOpen:
      return `${file}: cannot be written any more; check the folder and its permissions`;
    case SQLITE.busy:
    case SQLITE.locked:
    case SQLITE.protocol:
      return `${file}: another process has locked the database; end that process`;
    default:
      return undefined;
  }
}

function primaryCode(thrown: unknown): number | undefined {
  const code = extendedCode(thrown);
  return code === undefined ? undefined : code & 0xff;
}

function extendedCode(thrown: unknown): number | undefined {
  // Guarded statements have mapped their errors already.
  if (thrown instanceof ThriceError) return extendedCode(thrown.cause);
  if (!(thrown instanceof Error) || !('errcode' in thrown)) return undefined;
  return typeof thrown.errcode === 'number' ? thrown.errcode : undefined;
}

type Problem = { readonly code: 'store-unusable' | 'store-unavailable'; readonly message: string };

function describe(code: number | undefined, file: string): Problem | undefined {
  switch (code) {
    case SQLITE.full:
      return unusable(`${file}: the disk is full; free some space and resume`);
    case SQLITE.readonly:
    case SQLITE.cantOpen:
      return unusable(
        `${file}: cannot be written; check the folder's permissions or choose another with --dir`,
      );
    case SQLITE.ioerr:
      return unusable(`${file}: the disk failed to read or write; resume when it works again`);
    case SQLITE.corrupt:
    case SQLITE.notADb:
      return unusable(
        `${file}: expected a Thrice database, received a damaged or foreign file; move it away or choose another folder with --dir`,
      );
    case SQLITE.busy:
    case SQLITE.locked:
    case SQLITE.protocol:
      return {
        code: 'store-unavailable',
        message: `${file}: another process has locked the database for too long; try again`,
      };
    default:
      return undefined;
  }
}

function unusable(message: string): Problem {
  return { code: 'store-unusable', message };
}
