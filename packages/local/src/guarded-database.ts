import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { mapSqliteError } from './map-sqlite-error.ts';

/**
 * A database whose reads fail with our errors, naming the file: damage shows itself only when a page
 * is read. Writes go through `GroupCommit`, which does the same for them.
 */
export class GuardedDatabase extends DatabaseSync {
  readonly #file: string;

  constructor(file: string, options: { readonly timeout: number }) {
    super(file, options);
    this.#file = file;
  }

  override prepare(...args: Parameters<DatabaseSync['prepare']>): StatementSync {
    const guard = <Args extends unknown[], Result>(call: (...args: Args) => Result) => {
      return (...given: Args): Result => {
        try {
          return call(...given);
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
