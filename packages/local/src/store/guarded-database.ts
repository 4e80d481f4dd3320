import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { mapSqliteError } from './map-sqlite-error.ts';

/**
 * A database whose reads throw a `ThriceError` that names the file.
 *
 * Damage is detected only when a page is read, so any read may fail. `GroupCommit` maps the errors of
 * writes.
 */
export class GuardedDatabase extends DatabaseSync {
  readonly #file: string;

  constructor(file: string, options: { readonly timeout: number }) {
    super(file, options);
    this.#file = file;
  }

  override prepare(...args: Parameters<DatabaseSync['prepare']>): StatementSync {
    const guard = <Args extends unknown[], Result>(call: (...args: Args) => Result) => {
      return (...values: Args): Result => {
        try {
          return call(...values);
        } catch (error) {
          throw mapSqliteError(error, this.#file);
        }
      };
    };
    const statement = guard(super.prepare.bind(this))(...args);
    statement.get = guard(statement.get.bind(statement)) as StatementSync['get'];
    statement.all = guard(statement.all.bind(statement)) as StatementSync['all'];
    return statement;
  }
}
