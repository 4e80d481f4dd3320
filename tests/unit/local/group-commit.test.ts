import { rename, rm, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { ThriceError } from '@thrice/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { GroupCommit, type WriteObserver } from '../../../packages/local/src/store/group-commit.ts';
import { openDatabase } from '../../../packages/local/src/store/open-database.ts';
import { settledBy } from '../../support/settled-by.ts';
import { type TemporaryFolder, temporaryFolder } from '../../support/temporary-folder.ts';

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

const ignoreState: WriteObserver = { onUnwritable: () => undefined, onWritable: () => undefined };

/** A held database that can be made full: it takes no page beyond those it has. */
function openFull() {
  const numbers = openNumbers();
  const events: string[] = [];
  const hold = numbers.commit.holdWrites({
    onUnwritable: ({ reason }) => events.push(reason),
    onWritable: () => events.push('recovered'),
  });
  const limitPages = (count: number) => numbers.database.exec(`PRAGMA max_page_count = ${count}`);
  numbers.database.exec('CREATE TABLE filling (text TEXT)');
  return {
    numbers,
    hold,
    events,
    fill: () => {
      limitPages(4);
      numbers.database.exec(
        'CREATE TRIGGER fill AFTER INSERT ON numbers BEGIN INSERT INTO filling VALUES (zeroblob(65536)); END',
      );
    },
    free: () => limitPages(10_000),
    [Symbol.dispose]: () => numbers[Symbol.dispose](),
  };
}

/** A database whose file another process has locked, with a clock that a test sets. */
function openLocked(folder: TemporaryFolder) {
  const file = folder.resolve('thrice.db');
  const holder = openDatabase(file);
  const database = new DatabaseSync(file, { timeout: 0 });
  const clock = { nowMs: 0 };
  const events: string[] = [];
  const observer: WriteObserver = {
    onUnwritable: ({ reason }) => events.push(reason),
    onWritable: () => events.push('recovered'),
  };
  const commit = new GroupCommit(database, file, { monotonicMs: () => clock.nowMs });
  holder.exec('BEGIN IMMEDIATE');
  return {
    file,
    holder,
    clock,
    commit,
    events,
    observer,
    add: () => commit.write(() => database.exec("INSERT INTO open_breakers VALUES ('lab', '{}')")),
    [Symbol.dispose]: () => {
      database.close();
      holder.close();
    },
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
    const commit = new GroupCommit(database, file, { busyLimitMs: 0 });
    holder.exec('BEGIN IMMEDIATE');

    const written = commit.write(() =>
      database.exec("INSERT INTO open_breakers VALUES ('lab', '{}')"),
    );

    await expect(written).rejects.toMatchObject({ code: 'store-unavailable' });
  });

  describe('while writes are held', () => {
    it('holds the writes of a full database in their order until it takes them', async () => {
      using full = openFull();
      const { numbers, events, fill, free } = full;
      fill();
      const first = numbers.commit.write(numbers.add(1));
      numbers.commit.flush();
      const rest = [2, 3].map((n) => numbers.commit.write(numbers.add(n)));
      numbers.commit.flush();
      numbers.commit.flush();
      const early = await settledBy(first);

      free();
      numbers.commit.flush();

      expect(early).toBe(false);
      expect(await Promise.all([first, ...rest])).toEqual([1, 2, 3]);
      expect(numbers.read()).toEqual([1, 2, 3]);
      expect(events).toEqual(['numbers.db: the disk is full; free some space', 'recovered']);
    });

    it('holds a write whose statement returns rows', async () => {
      using database = openDatabase(':memory:');
      const commit = new GroupCommit(database, 'thrice.db');
      using _hold = commit.holdWrites(ignoreState);
      const [pages] = database.prepare('PRAGMA page_count').all();
      const insert = database.prepare('INSERT INTO open_breakers VALUES (?, ?) RETURNING rowid');
      database.exec(`PRAGMA max_page_count = ${Number(pages?.['page_count'])}`);
      const written = commit.write(() => insert.all('lab', 'x'.repeat(100_000)));
      commit.flush();

      database.exec('PRAGMA max_page_count = 10000');
      commit.flush();

      expect(await written).toEqual([{ rowid: 1 }]);
    });

    it('retries by itself', async () => {
      using full = openFull();
      const { numbers, fill, free } = full;
      fill();
      const written = numbers.commit.write(numbers.add(1));
      numbers.commit.flush();

      free();

      expect(await written).toBe(1);
    });

    it('holds a write whose batch another write has failed', async () => {
      using full = openFull();
      const { numbers, fill, free } = full;
      fill();
      const broken = numbers.commit.write(() => {
        throw new ThriceError({ code: 'invalid-argument', message: 'no' });
      });
      const written = numbers.commit.write(numbers.add(1));
      const ends = Promise.allSettled([broken, written]);
      numbers.commit.flush();

      free();
      numbers.commit.flush();

      expect(await ends).toMatchObject([
        { status: 'rejected', reason: { code: 'invalid-argument' } },
        { status: 'fulfilled', value: 1 },
      ]);
    });

    it.each([
      { what: 'a full disk', errcode: 13 },
      { what: 'a disk that fails to write', errcode: 778 },
      { what: 'a disk that fails to flush', errcode: 1034 },
      { what: 'a file system that has become read-only', errcode: 8 },
    ])('holds what finds $what at the commit', async ({ errcode }) => {
      let isBroken = true;
      using numbers = openNumbers(() => {
        if (isBroken) throw Object.assign(new Error('broken'), { errcode });
      });
      using _hold = numbers.commit.holdWrites(ignoreState);
      const written = numbers.commit.write(numbers.add(1));
      numbers.commit.flush();

      isBroken = false;
      numbers.commit.flush();

      expect(await written).toBe(1);
      expect(numbers.read()).toEqual([1]);
    });

    it.each([
      { what: 'damaged', errcode: 11 },
      { what: 'unreadable', errcode: 266 },
    ])('fails what finds the file $what', async ({ errcode }) => {
      using numbers = openNumbers(() => {
        throw Object.assign(new Error('broken'), { errcode });
      });
      using _hold = numbers.commit.holdWrites(ignoreState);

      const written = numbers.commit.write(numbers.add(1));

      await expect(written).rejects.toMatchObject({ code: 'store-unusable' });
    });

    it('fails what is held when the holding ends and the disk is still full', async () => {
      using full = openFull();
      const { numbers, hold, fill } = full;
      fill();
      const written = numbers.commit.write(numbers.add(1));
      numbers.commit.flush();

      hold[Symbol.dispose]();

      await expect(written).rejects.toMatchObject({ code: 'store-unusable' });
    });

    it('holds writes while the file is locked for longer than its limit', async () => {
      await using folder = await temporaryFolder();
      const file = folder.resolve('thrice.db');
      using holder = openDatabase(file);
      using database = new DatabaseSync(file, { timeout: 0 });
      const commit = new GroupCommit(database, file, { busyLimitMs: 0 });
      using _hold = commit.holdWrites(ignoreState);
      holder.exec('BEGIN IMMEDIATE');
      const written = commit.write(() =>
        database.exec("INSERT INTO open_breakers VALUES ('lab', '{}')"),
      );
      commit.flush();

      holder.exec('COMMIT');

      await expect(written).resolves.toBeUndefined();
    });

    it('reports a file that is locked for three seconds, and its release', async () => {
      await using folder = await temporaryFolder();
      using locked = openLocked(folder);
      const { commit, file, clock, events, holder, add } = locked;
      using _hold = commit.holdWrites(locked.observer);
      const written = add();
      commit.flush();
      clock.nowMs += 2_999;
      commit.flush();
      const early = [...events];
      clock.nowMs += 1;
      commit.flush();

      holder.exec('COMMIT');
      commit.flush();

      await expect(written).resolves.toBeUndefined();
      expect(early).toEqual([]);
      expect(events).toEqual([
        `${file}: another process has locked the database; end that process`,
        'recovered',
      ]);
    });

    it('fails what finds the file locked once the holding was given up', async () => {
      await using folder = await temporaryFolder();
      using locked = openLocked(folder);
      const { commit, clock, add } = locked;
      using hold = commit.holdWrites(locked.observer);
      const held = add();
      commit.flush();
      clock.nowMs += 3_000;
      commit.flush();

      hold.giveUp();
      const later = add();
      commit.flush();

      await expect(held).rejects.toMatchObject({ code: 'store-unavailable' });
      await expect(later).rejects.toMatchObject({ code: 'store-unavailable' });
    });

    it.runIf(process.platform === 'linux')('reports that the file was deleted', async () => {
      await using folder = await temporaryFolder();
      const file = folder.resolve('thrice.db');
      using database = openDatabase(file);
      const commit = new GroupCommit(database, file);
      const problems: unknown[] = [];
      const hold = commit.holdWrites({ ...ignoreState, onUnwritable: (why) => problems.push(why) });
      await rm(file);
      const written = commit.write(() => undefined);
      commit.flush();

      hold[Symbol.dispose]();

      await expect(written).rejects.toBeInstanceOf(Error);
      const reason = `${file} was deleted, and with it all that it held; stop, then start a new run`;
      expect(problems).toEqual([{ reason, isDeleted: true }]);
    });

    it.each(['moved', 'replaced'])('holds writes while the file is %s', async (what) => {
      await using folder = await temporaryFolder();
      const file = folder.resolve('thrice.db');
      using database = openDatabase(file);
      const commit = new GroupCommit(database, file);
      const reasons: string[] = [];
      using _hold = commit.holdWrites({
        ...ignoreState,
        onUnwritable: ({ reason }) => reasons.push(reason),
      });
      await rename(file, `${file}.away`);
      if (what === 'replaced') await writeFile(file, '');
      const written = commit.write(() =>
        database.exec("INSERT INTO open_breakers VALUES ('lab', '{}')"),
      );
      commit.flush();
      const early = await settledBy(written);

      await rename(`${file}.away`, file);
      commit.flush();
      await written;

      expect(early).toBe(false);
      expect(reasons).toEqual([
        `${file} was moved; move the same file back, as this process does not recognize a copy`,
      ]);
    });
  });

  it('rejects writes after the database is closed', async () => {
    const numbers = openNumbers();
    numbers[Symbol.dispose]();

    const written = numbers.commit.write(() => 1);

    await expect(written).rejects.toMatchObject({ class: 'internal' });
  });
});
