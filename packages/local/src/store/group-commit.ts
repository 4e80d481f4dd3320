import { readdirSync, type Stats, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import {
  describeUnwritable,
  mapSqliteError,
  movedDatabase,
  type WriteProblem,
} from './map-sqlite-error.ts';

/**
 * How long the first write of a batch waits for others: as long as the last commit took, within these bounds. A
 * slow disk thus gets larger batches and is busy half of the time at most; a fast one keeps no cell waiting.
 */
const MIN_GATHER_MS = 2;
const MAX_GATHER_MS = 50;
/** Pause between attempts to commit to a busy database. SQLite's own timeout adds to each attempt. */
const RETRY_MS = 50;
/** How long to retry on a busy database: a backup or a copy of the file may lock it for minutes. */
const BUSY_LIMIT_MS = 5 * 60_000;
/** How long to retry on a busy database before its observer is told: longer than another process's batches take. */
const BUSY_REPORT_MS = 3_000;
/** Pause between attempts to commit to a database that takes no writes. */
const UNWRITABLE_RETRY_MS = 250;

/** The holding of writes that the database does not take; disposed of to fail them after one more attempt. */
export interface WriteHold extends Disposable {
  /** Attempts to commit what is held, now. */
  retry(): void;
  /** Ends the holding; from now on a write also fails at once if the database is busy. */
  giveUp(): void;
}

/** Learns when a database takes no writes, and when it does again. */
export interface WriteObserver {
  onUnwritable(problem: WriteProblem): void;
  onWritable(): void;
}

interface Write {
  readonly work: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Settles the promise of one write. */
type Settle = () => void;

/**
 * Combines writes into shared transactions, so that durability costs one disk flush per batch instead of
 * one per write.
 *
 * idle --write--> gathering --after the gather time, or flush()--> committing --> idle
 * committing --busy--> waiting --after RETRY_MS, or flush()--> committing
 * committing --full, gone or busy for BUSY_REPORT_MS, while writes are held--> unwritable --after UNWRITABLE_RETRY_MS, or flush()--> committing
 *
 * A write's promise settles after its transaction is on disk. Writes run in the order of their arrival. A
 * write that throws changes nothing and fails alone: its batch is rolled back and the other writes run
 * again. On a busy database no write fails before BUSY_LIMIT_MS have passed, unless the holding was given up. While writes are held, none fails
 * because the database is full, gone or busy, however long that lasts.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #file: string;
  #busyLimitMs: number;
  readonly #monotonicMs: () => number;
  #writes: Write[] = [];
  /** Batches to commit, oldest first. A batch that waits for a busy database takes no further writes. */
  #batches: (readonly Write[])[] = [];
  /** Settles the writes of the first batch, once they ran and until they are committed. */
  #uncommitted: readonly Settle[] | undefined;
  #busySinceMs: number | undefined;
  /** Set while writes are held. */
  #observer: WriteObserver | undefined;
  #isUnwritable = false;
  readonly #fileIdentity: string | undefined;
  #gatherMs = MIN_GATHER_MS;
  #timer: NodeJS.Timeout | undefined;

  /** @param init.busyLimitMs - How long to retry on a busy database before its writes fail. */
  constructor(
    database: DatabaseSync,
    file: string,
    {
      busyLimitMs = BUSY_LIMIT_MS,
      monotonicMs = () => performance.now(),
    }: { readonly busyLimitMs?: number; readonly monotonicMs?: () => number } = {},
  ) {
    this.#database = database;
    this.#file = file;
    this.#busyLimitMs = busyLimitMs;
    this.#monotonicMs = monotonicMs;
    this.#fileIdentity = readIdentity(database);
  }

  /** Holds the writes of a database that is full, gone or locked, in their order, until it takes them. */
  holdWrites(observer: WriteObserver): WriteHold {
    this.#observer = observer;
    const end = () => {
      this.#observer = undefined;
      if (this.#isUnwritable) this.flush();
    };
    return {
      retry: () => this.flush(),
      giveUp: () => {
        this.#busyLimitMs = 0;
        end();
      },
      [Symbol.dispose]: end,
    };
  }

  /**
   * Runs `work` inside the next transaction.
   *
   * @throws {ThriceError} `store-unusable` or `store-unavailable` when the batch cannot be committed.
   */
  write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#writes.push({ work, resolve: resolve as (value: unknown) => void, reject });
      this.#timer ??= setTimeout(() => this.flush(), this.#gatherMs);
    });
  }

  /** Commits the gathered writes now, or later if the database is busy. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#writes.length > 0) this.#batches.push(this.#writes);
    this.#writes = [];
    for (let [batch] = this.#batches; batch !== undefined; [batch] = this.#batches) {
      const retryMs = this.#commitOrFail(batch);
      if (retryMs !== undefined) {
        this.#timer = setTimeout(() => this.flush(), retryMs);
        return;
      }
      this.#batches.shift();
    }
    if (!this.#isUnwritable) return;
    this.#isUnwritable = false;
    this.#observer?.onWritable();
  }

  /** Returns after how long to retry, ms; undefined once the batch is committed or its writes have failed. */
  #commitOrFail(batch: readonly Write[]): number | undefined {
    try {
      this.#commit(batch);
    } catch (error) {
      const mapped = mapSqliteError(error, this.#file);
      if (mapped.code === 'store-unavailable' && this.#canRetry()) return RETRY_MS;
      this.#rollBack();
      if (this.#hold(error)) return UNWRITABLE_RETRY_MS;
      for (const { reject } of batch) reject(mapped);
    }
    return undefined;
  }

  /** Whether to hold the writes that failed with this error. */
  #hold(error: unknown): boolean {
    const problem = describeUnwritable(error, this.#file);
    if (problem === undefined || this.#observer === undefined) return false;
    if (!this.#isUnwritable) {
      this.#isUnwritable = true;
      this.#observer.onUnwritable(problem);
    }
    return true;
  }

  #canRetry(): boolean {
    const nowMs = this.#monotonicMs();
    this.#busySinceMs ??= nowMs;
    const reportMs = this.#observer === undefined ? Number.POSITIVE_INFINITY : BUSY_REPORT_MS;
    return nowMs - this.#busySinceMs < Math.min(this.#busyLimitMs, reportMs);
  }

  #commit(batch: readonly Write[]): void {
    // A busy COMMIT leaves its transaction open, so only COMMIT is retried, not the writes.
    this.#uncommitted ??= this.#run(batch);
    const startedMs = performance.now();
    // SQLite would write to a deleted file as long as it is open, and the answers would be gone with the process.
    if (readIdentity(this.#database) !== this.#fileIdentity) {
      throw movedDatabase(isDeleted(this.#fileIdentity));
    }
    this.#database.exec('COMMIT');
    this.#gatherMs = clamp(performance.now() - startedMs, MIN_GATHER_MS, MAX_GATHER_MS);
    const settlements = this.#uncommitted;
    this.#uncommitted = undefined;
    this.#busySinceMs = undefined;
    for (const settle of settlements) settle();
  }

  #run(batch: readonly Write[]): readonly Settle[] {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      return batch.map(({ work, resolve }) => {
        const value = work();
        return () => resolve(value);
      });
    } catch (error) {
      this.#rollBack();
      if (batch.length === 1) throw error;
    }
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      return batch.map((write) => this.#runAlone(write));
    } catch (error) {
      this.#rollBack();
      throw error;
    }
  }

  /** Runs a write so that it can be rolled back alone. */
  #runAlone({ work, resolve, reject }: Write): Settle {
    this.#database.exec('SAVEPOINT write');
    try {
      const value = work();
      this.#database.exec('RELEASE write');
      return () => resolve(value);
    } catch (error) {
      // A full or failing disk fails the entire transaction, whether SQLite has ended it or not.
      const isOfFile = describeUnwritable(error, this.#file) !== undefined;
      if (isOfFile || !this.#database.isTransaction) throw error;
      this.#database.exec('ROLLBACK TO write; RELEASE write');
      const mapped = mapSqliteError(error, this.#file);
      return () => reject(mapped);
    }
  }

  #rollBack(): void {
    this.#uncommitted = undefined;
    if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }
}

/** Identifies the file of a database, not its name; undefined if it has none, or it is gone. */
function readIdentity(database: DatabaseSync): string | undefined {
  const file = database.isOpen ? database.location() : null;
  if (file === null) return undefined;
  try {
    const { dev, ino } = statSync(file);
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/**
 * Whether an open file is known to be in no folder any more. Only Linux shows this; elsewhere a deleted file counts
 * as moved.
 */
function isDeleted(identity: string | undefined): boolean {
  return openFiles().some(({ dev, ino, nlink }) => `${dev}:${ino}` === identity && nlink === 0);
}

function openFiles(): readonly Stats[] {
  const folder = '/proc/self/fd';
  try {
    return readdirSync(folder).flatMap((name) => {
      const file = statSync(`${folder}/${name}`, { throwIfNoEntry: false });
      return file === undefined ? [] : [file];
    });
  } catch {
    return [];
  }
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
