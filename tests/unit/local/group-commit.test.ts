import { DatabaseSync } from 'node:sqlite';
import { ThriceError } from '@thrice/core';
import { GroupCommit, openDatabase } from '@thrice/local';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A table of numbers in a database that counts the transactions it began. */
function openNumbers() {
  const database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE numbers (n INTEGER) STRICT');
  const statements: string[] = [];
  const plainExec = database.exec.bind(database);
  database.exec = (sql) => {
    statements.push(sql.split(' ')[0] ?? '');
    plainExec(sql);
  };
  const insert = database.prepare('INSERT INTO numbers VALUES (?)');
  return {
    commit: new GroupCommit(database, 'numbers.db'),
    statements,
    add: (n: number) => () => {
      insert.run(n);
      return n;
    },
    read: () =>
      database
        .prepare('SELECT n FROM numbers ORDER BY rowid')
        .all()
        .map((row) => row['n']),
    [Symbol.dispose]: () => database.close(),
  };
}

describe('GroupCommit', () => {
  it('runs writes in the order they came in and resolves with what they return', async () => {
    using numbers = openNumbers();
    const { commit, add } = numbers;

    const written = await Promise.all([3, 1, 2].map((n) => commit.write(add(n))));

    expect(written).toEqual([3, 1, 2]);
    expect(numbers.read()).toEqual([3, 1, 2]);
  });

  it('commits all writes of a batch in one transaction', async () => {
    using numbers = openNumbers();
    const { commit, add } = numbers;
    const written = [1, 2, 3].map((n) => commit.write(add(n)));

    commit.flush();
    await Promise.all(written);

    expect(numbers.statements).toEqual(['BEGIN', 'COMMIT']);
  });

  it('commits by itself soon after a write', async () => {
    using numbers = openNumbers();

    await numbers.commit.write(numbers.add(1));

    expect(numbers.read()).toEqual([1]);
  });

  it('commits at once when it is flushed', () => {
    using numbers = openNumbers();
    void numbers.commit.write(numbers.add(1));
    const before = numbers.read();

    numbers.commit.flush();

    expect(before).toEqual([]);
    expect(numbers.read()).toEqual([1]);
  });

  it('does nothing when there is nothing to flush', () => {
    using numbers = openNumbers();

    numbers.commit.flush();

    expect(numbers.statements).toEqual([]);
  });

  it('takes writes again after a flush', async () => {
    using numbers = openNumbers();
    const { commit, add } = numbers;
    const first = commit.write(add(1));
    commit.flush();
    const second = commit.write(add(2));

    commit.flush();
    await Promise.all([first, second]);

    expect(numbers.read()).toEqual([1, 2]);
    expect(numbers.statements).toEqual(['BEGIN', 'COMMIT', 'BEGIN', 'COMMIT']);
  });

  it('resolves no write before its transaction is committed', async () => {
    using numbers = openNumbers();
    const { commit, add } = numbers;
    const events: string[] = [];
    const written = [1, 2].map(async (n) => {
      await commit.write(() => {
        events.push(`write ${n}`);
        return add(n)();
      });
      events.push(`resolved ${n}`);
    });

    commit.flush();
    await Promise.all(written);

    expect(events).toEqual(['write 1', 'write 2', 'resolved 1', 'resolved 2']);
  });

  it('rejects a whole batch and rolls it back when one write throws', async () => {
    using numbers = openNumbers();
    const { commit, add } = numbers;
    const broken = new ThriceError({ code: 'invalid-argument', message: 'no' });
    const written = [
      commit.write(add(1)),
      commit.write(() => {
        throw broken;
      }),
      commit.write(add(3)),
    ];

    const settled = await Promise.allSettled(written);

    expect(settled).toEqual(written.map(() => ({ status: 'rejected', reason: broken })));
    expect(numbers.read()).toEqual([]);
    expect(numbers.statements).toEqual(['BEGIN', 'ROLLBACK']);
  });

  it('goes on after a batch that failed', async () => {
    using numbers = openNumbers();
    const failed = numbers.commit.write(() => {
      throw new Error('no');
    });
    await expect(failed).rejects.toMatchObject({ code: 'invariant-violated', message: 'no' });

    await numbers.commit.write(numbers.add(1));

    expect(numbers.read()).toEqual([1]);
  });

  it('rejects with store-unavailable while another process holds the file', async () => {
    await using folder = await temporaryFolder();
    const file = folder.resolve('thrice.db');
    using holder = openDatabase(file);
    using database = new DatabaseSync(file, { timeout: 0 });
    const commit = new GroupCommit(database, file);
    holder.exec('BEGIN IMMEDIATE');

    const written = commit.write(() => database.exec("INSERT INTO closures VALUES ('lab', '{}')"));

    await expect(written).rejects.toMatchObject({ code: 'store-unavailable' });
  });

  it('rejects what is written after the database is closed', async () => {
    const numbers = openNumbers();
    numbers[Symbol.dispose]();

    const written = numbers.commit.write(() => 1);

    await expect(written).rejects.toMatchObject({ class: 'defect' });
  });
});
