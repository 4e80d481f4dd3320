import { DatabaseSync } from 'node:sqlite';
import { ThriceError } from '@thrice/core';
import { GroupCommit, openDatabase } from '@thrice/local';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A table of numbers in a database that counts its transactions. */
function openNumbers(onCommit: () => void = () => undefined) {
  const database = new DatabaseSync(':memory:');
  database.exec('CREATE TABLE numbers (n INTEGER) STRICT');
  const statements: string[] = [];
  const plainExec = database.exec.bind(database);
  database.exec = (sql) => {
    statements.push(sql.split(' ')[0] ?? '');
    if (sql === 'COMMIT') onCommit();
    plainExec(sql);
  };
  const insert = database.prepare('INSERT INTO numbers VALUES (?)');
  return {
    database,
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
  it('runs writes in order of arrival and resolves with their return values', async () => {
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

  it('fails every write of a batch whose transaction a full disk has ended', async () => {
    using numbers = openNumbers();
    const { commit, database, add } = numbers;
    const fillDisk = () => {
      database.exec('ROLLBACK');
      throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
    };

    const written = [commit.write(add(1)), commit.write(fillDisk), commit.write(add(2))];
    commit.flush();

    for (const write of written)
      await expect(write).rejects.toMatchObject({ code: 'store-unusable' });
    expect(numbers.read()).toEqual([]);
    await expect(commit.write(add(3))).resolves.toBe(3);
  });

  it('commits automatically soon after a write', async () => {
    using numbers = openNumbers();

    await numbers.commit.write(numbers.add(1));

    expect(numbers.read()).toEqual([1]);
  });

  it.each([
    { commitMs: 0, gatherMs: 2 },
    { commitMs: 20, gatherMs: 20 },
    { commitMs: 400, gatherMs: 50 },
  ])(
    'gathers writes for $gatherMs ms after a commit of $commitMs ms',
    async ({ commitMs, gatherMs }) => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
      onTestFinished(() => void vi.useRealTimers());
      using numbers = openNumbers(() => vi.advanceTimersByTime(commitMs));
      const first = numbers.commit.write(numbers.add(1));
      numbers.commit.flush();
      await first;

      const second = numbers.commit.write(numbers.add(2));
      vi.advanceTimersByTime(gatherMs - 1);
      const early = numbers.read();
      vi.advanceTimersByTime(1);
      await second;

      expect(early).toEqual([1]);
      expect(numbers.read()).toEqual([1, 2]);
    },
  );

  it('commits immediately when flushed', () => {
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

  it('accepts writes again after a flush', async () => {
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

  it('does not resolve a write before its transaction is committed', async () => {
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

  it('rejects only the write that throws and rolls back only its changes', async () => {
    using numbers = openNumbers();
    const { commit, add } = numbers;
    const broken = new ThriceError({ code: 'invalid-argument', message: 'no' });
    const written = [
      commit.write(add(1)),
      commit.write(() => {
        add(2)();
        throw broken;
      }),
      commit.write(add(3)),
    ];

    const settled = await Promise.allSettled(written);

    expect(settled).toEqual([
      { status: 'fulfilled', value: 1 },
      { status: 'rejected', reason: broken },
      { status: 'fulfilled', value: 3 },
    ]);
    expect(numbers.read()).toEqual([1, 3]);
  });

  it('rolls back a write that throws in a batch of its own', async () => {
    using numbers = openNumbers();
    const written = numbers.commit.write(() => {
      numbers.add(1)();
      throw new Error('no');
    });

    await expect(written).rejects.toMatchObject({ message: 'no' });

    expect(numbers.read()).toEqual([]);
    expect(numbers.statements).toEqual(['BEGIN', 'ROLLBACK']);
  });

  it('keeps its writes while another process locks the file', async () => {
    await using folder = await temporaryFolder();
    const file = folder.resolve('thrice.db');
    using holder = openDatabase(file);
    using database = new DatabaseSync(file, { timeout: 0 });
    const commit = new GroupCommit(database, file);
    const add = (breakerKey: string) =>
      commit.write(() =>
        database.prepare("INSERT INTO open_breakers VALUES (?, '{}')").run(breakerKey),
      );
    holder.exec('BEGIN IMMEDIATE');
    const first = add('first');
    commit.flush();
    const second = add('second');
    commit.flush();
    const third = add('third');

    holder.exec('COMMIT');
    await Promise.all([first, second, third]);

    const rows = holder.prepare('SELECT breaker_key FROM open_breakers ORDER BY rowid').all();
    expect(rows.map(({ breaker_key }) => breaker_key)).toEqual(['first', 'second', 'third']);
  });

  it('retries only the commit when that found the file busy, without running the writes again', async () => {
    using numbers = openNumbers();
    const exec = numbers.database.exec.bind(numbers.database);
    let busyCount = 2;
    numbers.database.exec = (sql) => {
      if (sql === 'COMMIT' && busyCount > 0) {
        busyCount -= 1;
        throw Object.assign(new Error('database is locked'), { errcode: 5 });
      }
      exec(sql);
    };

    const written = await numbers.commit.write(numbers.add(1));

    expect(written).toBe(1);
    expect(numbers.read()).toEqual([1]);
    expect(numbers.statements).toEqual(['BEGIN', 'COMMIT']);
  });

  it('continues after a failed batch', async () => {
    using numbers = openNumbers();
    const failed = numbers.commit.write(() => {
      throw new Error('no');
    });
    await expect(failed).rejects.toMatchObject({ code: 'invariant-violated', message: 'no' });

    await numbers.commit.write(numbers.add(1));

    expect(numbers.read()).toEqual([1]);
  });

  it('rejects with store-unavailable when the file is locked for longer than its limit', async () => {
    await using folder = await temporaryFolder();
    const file = folder.resolve('thrice.db');
    using holder = openDatabase(file);
    using database = new DatabaseSync(file, { timeout: 0 });
    const commit = new GroupCommit(database, file, 0);
    holder.exec('BEGIN IMMEDIATE');

    const written = commit.write(() =>
      database.exec("INSERT INTO open_breakers VALUES ('lab', '{}')"),
    );

    await expect(written).rejects.toMatchObject({ code: 'store-unavailable' });
  });

  it('rejects writes after the database is closed', async () => {
    const numbers = openNumbers();
    numbers[Symbol.dispose]();

    const written = numbers.commit.write(() => 1);

    await expect(written).rejects.toMatchObject({ class: 'internal' });
  });
});
