import { DatabaseSync } from 'node:sqlite';
import { ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { mapSqliteError } from '../../../packages/local/src/map-sqlite-error.ts';

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
    ['busy', 5, 'store-unavailable', 'another process holds it'],
    ['busy snapshot', 5 | (2 << 8), 'store-unavailable', 'another process holds it'],
    ['locked', 6, 'store-unavailable', 'another process holds it'],
  ])('translates %s (%i) to %s', (_, errcode, code, words) => {
    const cause = sqliteError(errcode);

    const error = mapSqliteError(cause, 'dir/thrice.db');

    expect(error).toMatchObject({ code, cause });
    expect(error.message).toContain('dir/thrice.db: ');
    expect(error.message).toContain(words);
  });

  it.each([
    ['a constraint', sqliteError(19), 'what SQLite says'],
    ['an error of another kind', new TypeError('oops'), 'oops'],
    [
      'an error with a code that is no number',
      Object.assign(new Error('x'), { errcode: '5' }),
      'x',
    ],
    ['no error at all', 'text', 'text'],
  ])('wraps %s as a bug', (_, thrown, message) => {
    const error = mapSqliteError(thrown, 'thrice.db');

    expect(error).toMatchObject({ code: 'invariant-violated', message, cause: thrown });
  });

  it('leaves our own errors as they are', () => {
    const own = new ThriceError({ code: 'already-exists', message: 'group demo already exists' });

    expect(mapSqliteError(own, 'thrice.db')).toBe(own);
  });

  it('recognises what node:sqlite really throws', () => {
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
