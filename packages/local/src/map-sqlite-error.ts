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
  notADb: 26,
};

/** Maps errors of `node:sqlite` to a {@link ThriceError}; wraps any other error as a bug. */
export function mapSqliteError(thrown: unknown, file: string): ThriceError {
  if (thrown instanceof ThriceError) return thrown;
  const problem = describe(primaryCode(thrown), file);
  if (problem === undefined) return toThriceError(thrown);
  return new ThriceError({ ...problem, cause: thrown });
}

function primaryCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown)) return undefined;
  return typeof thrown.errcode === 'number' ? thrown.errcode & 0xff : undefined;
}

type Problem = { readonly code: 'store-unusable' | 'store-unavailable'; readonly message: string };

function describe(code: number | undefined, file: string): Problem | undefined {
  switch (code) {
    case SQLITE.full:
      return unusable(`${file}: the disk is full; free some space and resume. Nothing is lost`);
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
