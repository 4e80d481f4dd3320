import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '@thrice/core';
import { GroupCommit } from '../../packages/local/src/store/group-commit.ts';
import { openDatabase } from '../../packages/local/src/store/open-database.ts';
import { SqliteBatches } from '../../packages/local/src/store/sqlite-batches.ts';
import { SqliteBudgets } from '../../packages/local/src/store/sqlite-budgets.ts';
import { SqliteLedger } from '../../packages/local/src/store/sqlite-ledger.ts';
import { SqliteResponseCache } from '../../packages/local/src/store/sqlite-response-cache.ts';
import { SqliteTaskQueue } from '../../packages/local/src/store/sqlite-task-queue.ts';
import { WorkerRegistry } from '../../packages/local/src/store/worker-registry.ts';

/** Commits at the end of the current turn, so that concurrent writes share a batch without waiting. */
export class EagerCommit extends GroupCommit {
  override write<T>(work: () => T): Promise<T> {
    const written = super.write(work);
    queueMicrotask(() => this.flush());
    return written;
  }
}

/** The stores of one process on a database. */
export interface LocalStores extends Disposable {
  readonly database: DatabaseSync;
  readonly commit: GroupCommit;
  readonly ledger: SqliteLedger;
  readonly responseCache: SqliteResponseCache;
  readonly budgets: SqliteBudgets;
  readonly batches: SqliteBatches;
  readonly workers: WorkerRegistry;
  queueOf(owner: string, group?: string): SqliteTaskQueue;
}

/** Opens the SQLite stores of a file, or of `:memory:`. */
export function openLocalStores(file: string, clock: Clock): LocalStores {
  const database = openDatabase(file);
  const commit = new EagerCommit(database, file);
  const workers = new WorkerRegistry(database, commit);
  return {
    database,
    commit,
    workers,
    ledger: new SqliteLedger(database, { commit, clock, workers }),
    responseCache: new SqliteResponseCache(database, { commit, clock, workers }),
    budgets: new SqliteBudgets(database, { commit, clock, workers }),
    batches: new SqliteBatches(database, commit),
    queueOf: (owner, group = 'demo') =>
      new SqliteTaskQueue(database, { commit, clock, group, workers, owner }),
    [Symbol.dispose]: () => {
      commit.flush();
      database.close();
    },
  };
}
