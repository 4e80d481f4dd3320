import { DatabaseSync } from 'node:sqlite';
import { ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { mapSqliteError } from '../../../packages/local/src/store/map-sqlite-error.ts';

function sqliteError(errcode: number): Error {
  return Object.assign(new Error('what SQLite says'), { code: 'ERR_SQLITE_ERROR', errcode });
}

describe('mapSqliteError', () => {
  it.each([
    ['full', 13, 'store-unusable', 'the disk is full'],
    ['read-only', 8, 'store-unusable', 'cannot be written'],
    ['read-only recovery', 8 | (1 << 8), 'store-unusable', 'cannot be written'],
    ['cannot open', 14, 'store-unusable', 'cannot be written'],
    ['short read', 10 | (2 << 8), 'store-unusable', 'the disk failed'],
    ['corrupt', 11, 'store-unusable', 'damaged or foreign'],
    ['not a database', 26, 'store-unusable', 'damaged or foreign'],
    ['busy', 5, 'store-unavailable', 'another process has locked'],
    ['busy snapshot', 5 | (2 << 8), 'store-unavailable', 'another process has locked'],
    ['a protocol race of WAL', 15, 'store-unavailable', 'another process has locked'],
    ['locked', 6, 'store-unavailable', 'another process has locked'],
  ])('maps %s (%i) to %s', (_, errcode, code, words) => {
    const cause = sqliteError(errcode);

    const error = mapSqliteError(cause, 'dir/thrice.db');

    expect(error).toMatchObject({ code, cause });
    expect(error.message).toContain('dir/thrice.db: ');
    expect(error.message).toContain(words);
  });

  it.each([
    ['a constraint', sqliteError(19), 'what SQLite says'],
    ['an unrelated error', new TypeError('oops'), 'oops'],
    [
      'an error with a code that is not a number',
      Object.assign(new Error('x'), { errcode: '5' }),
      'x',
    ],
    ['a value that is not an error', 'text', 'text'],
  ])('wraps %s as a bug', (_, thrown, message) => {
    const error = mapSqliteError(thrown, 'thrice.db');

    expect(error).toMatchObject({ code: 'invariant-violated', message, cause: thrown });
  });

  it("passes Thrice's own errors through unchanged", () => {
    const own = new ThriceError({ code: 'already-exists', message: 'group demo already exists' });

    expect(mapSqliteError(own, 'thrice.db')).toBe(own);
  });

  it('recognizes real errors of node:sqlite', () => {
    using database = new DatabaseSync(':memory:');
    database.exec('CREATE TABLE a (n); PRAGMA query_only = 1');

    let thrown: unknown;
    try {
      database.exec('INSERT INTO a VALUES (1)');
    } catch (error) {
      thrown = error;
    }

    expect(mapSqliteError(thrown, 'thrice.db').code).toBe('store-unusable');
  });
});
