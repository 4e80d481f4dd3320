import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Clock } from '@thrice/core';
import type { GroupCommit } from './group-commit.ts';
import type { WorkerRegistry } from './worker-registry.ts';

/** What the stores in a SQLite file share. */
export interface StoreInit {
  readonly commit: GroupCommit;
  readonly clock: Clock;
  /** Knows which owners are at work: their leases do not expire. */
  readonly workers: WorkerRegistry;
}

/** Statements by their names. */
export type Statements<Name extends string> = Readonly<Record<Name, StatementSync>>;

/** Prepares the statements of a store. */
export function prepareStatements<Name extends string>(
  database: DatabaseSync,
  sql: Readonly<Record<Name, string>>,
): Statements<Name> {
  return Object.fromEntries(
    Object.entries<string>(sql).map(([name, text]) => [name, database.prepare(text)]),
  ) as Statements<Name>;
}
