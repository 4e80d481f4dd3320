import type { DatabaseSync } from 'node:sqlite';
import { mapSqliteError } from './map-sqlite-error.ts';

/** How long the first write of a batch waits for company, ms: a fraction of one model call. */
const GATHER_MS = 4;

interface Write {
  readonly work: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Gathers writes into shared transactions, so that durability costs one disk flush a batch, not one
 * a write.
 *
 * idle --write--> gathering --after GATHER_MS, or flush()--> committing --> idle
 *
 * A write's promise settles after its transaction is on disk. Writes run in the order they came in;
 * one that throws must not have changed anything yet.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #file: string;
  #writes: Write[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(database: DatabaseSync, file: string) {
    this.#database = database;
    this.#file = file;
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

  /** Commits what is gathered, now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const writes = this.#writes;
    if (writes.length === 0) return;
    this.#writes = [];
    try {
      const settlements = this.#commit(writes);
      for (const settle of settlements) settle();
    } catch (error) {
      const mapped = mapSqliteError(error, this.#file);
      for (const { reject } of writes) reject(mapped);
    }
  }

  #commit(writes: readonly Write[]): readonly (() => void)[] {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const settlements = writes.map(({ work, resolve }) => {
        const value = work();
        return () => resolve(value);
      });
      this.#database.exec('COMMIT');
      return settlements;
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw error;
    }
  }
}
