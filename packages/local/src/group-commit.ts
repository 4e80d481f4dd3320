import type { DatabaseSync } from 'node:sqlite';
import { mapSqliteError } from './map-sqlite-error.ts';

/** How long the first write of a batch waits for company, ms: a fraction of one model call. */
const GATHER_MS = 6;
/** Pause between two attempts on a busy database, ms; each try waits for the database's own timeout too. */
const RETRY_MS = 50;
/** How long a busy database is tried, ms: a backup or a copy of the file may hold it for minutes. */
const BUSY_LIMIT_MS = 5 * 60_000;

interface Write {
  readonly work: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Tells one writer how its write ended. */
type Settle = () => void;

/**
 * Gathers writes into shared transactions, so that durability costs one disk flush a batch, not one
 * a write.
 *
 * idle --write--> gathering --after GATHER_MS, or flush()--> committing --> idle
 * committing --busy--> waiting --after RETRY_MS, or flush()--> committing
 *
 * A write's promise settles after its transaction is on disk. Writes run in the order they came in.
 * One that throws changes nothing and fails alone; those before it in its batch are rolled back and
 * run once more. A busy database loses no write before BUSY_LIMIT_MS are over.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #file: string;
  readonly #busyLimitMs: number;
  #writes: Write[] = [];
  /** Batches to commit, first one first; one that waits is not added to. */
  #batches: (readonly Write[])[] = [];
  /** The first batch, run but not committed yet. */
  #ran: readonly Settle[] | undefined;
  #busySinceMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param busyLimitMs - How long a busy database is tried before its writes are given up. */
  constructor(database: DatabaseSync, file: string, busyLimitMs = BUSY_LIMIT_MS) {
    this.#database = database;
    this.#file = file;
    this.#busyLimitMs = busyLimitMs;
  }

  /**
   * Runs `work` inside the next transaction.
   *
   * @throws {ThriceError} `store-unusable` or `store-unavailable` when the batch cannot be committed.
   */
  write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#writes.push({ work, resolve: resolve as (value: unknown) => void, reject });
      this.#timer ??= setTimeout(() => this.flush(), GATHER_MS);
    });
  }

  /** Commits what is gathered, now; later, if the database is busy. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#writes.length > 0) this.#batches.push(this.#writes);
    this.#writes = [];
    for (let [batch] = this.#batches; batch !== undefined; [batch] = this.#batches) {
      try {
        this.#commit(batch);
      } catch (error) {
        const mapped = mapSqliteError(error, this.#file);
        if (mapped.code === 'store-unavailable' && this.#isPatient()) {
          this.#timer = setTimeout(() => this.flush(), RETRY_MS);
          return;
        }
        this.#rollBack();
        for (const { reject } of batch) reject(mapped);
      }
      this.#batches.shift();
    }
  }

  #isPatient(): boolean {
    const nowMs = performance.now();
    this.#busySinceMs ??= nowMs;
    return nowMs - this.#busySinceMs < this.#busyLimitMs;
  }

  #commit(batch: readonly Write[]): void {
    // A busy COMMIT leaves its transaction open: only that is tried again, not the writes.
    this.#ran ??= this.#run(batch);
    this.#database.exec('COMMIT');
    const settlements = this.#ran;
    this.#ran = undefined;
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

  /** Runs a write so that it can be undone alone. */
  #runAlone({ work, resolve, reject }: Write): Settle {
    this.#database.exec('SAVEPOINT write');
    try {
      const value = work();
      this.#database.exec('RELEASE write');
      return () => resolve(value);
    } catch (error) {
      // A full or failing disk ends the whole transaction.
      if (!this.#database.isTransaction) throw error;
      this.#database.exec('ROLLBACK TO write; RELEASE write');
      const mapped = mapSqliteError(error, this.#file);
      return () => reject(mapped);
    }
  }

  #rollBack(): void {
    this.#ran = undefined;
    if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }
}
