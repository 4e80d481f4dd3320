import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Clock, GroupRecords } from '@thrice/core';
import type { GroupCommit } from './group-commit.ts';

/** Rows deleted in one transaction, so that other processes on the file never wait for long. */
const PAGE_ROWS = 5_000;

/** Deletes the records of groups from a SQLite file. The file keeps its size; later groups use the space. */
export class SqliteGroupRecords implements GroupRecords {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #pages: readonly StatementSync[];
  readonly #deleteCells: StatementSync;
  readonly #countCells: StatementSync;
  readonly #deleteResponseCache: StatementSync;
  readonly #deleteTally: StatementSync;
  readonly #deleteGroup: readonly StatementSync[];

  constructor(
    database: DatabaseSync,
    { commit, clock }: { readonly commit: GroupCommit; readonly clock: Clock },
  ) {
    this.#commit = commit;
    this.#clock = clock;
    this.#pages = PAGES.map((sql) => database.prepare(sql));
    this.#deleteCells = database.prepare(DELETE_CELLS);
    this.#countCells = database.prepare(
      'SELECT count(*) AS held FROM cells WHERE run = ? AND config = ?',
    );
    this.#deleteResponseCache = database.prepare(DELETE_RESPONSES);
    this.#deleteTally = database.prepare('DELETE FROM tallies WHERE run = ? AND config = ?');
    const tables = ['notifications', 'batches', 'reservations', 'budget_accounts', 'groups'];
    this.#deleteGroup = tables.map((table) =>
      database.prepare(`DELETE FROM ${table} WHERE group_name = ?`),
    );
  }

  async deleteRecords(run: string, config: string): Promise<number> {
    for (const statement of this.#pages) {
      await this.#deletePages(() => statement.run(run, config, PAGE_ROWS).changes);
    }
    const nowMs = this.#clock.now();
    await this.#deletePages(
      () => this.#deleteCells.run(run, config, run, config, nowMs, PAGE_ROWS).changes,
    );
    await this.#commit.write(() => this.#deleteTally.run(run, config));
    return Number(this.#countCells.get(run, config)?.['held']);
  }

  async deleteResponseCache(run: string): Promise<void> {
    await this.#deletePages(() => this.#deleteResponseCache.run(run, PAGE_ROWS).changes);
  }

  async #deletePages(deletePage: () => number | bigint): Promise<void> {
    while (Number(await this.#commit.write(deletePage)) === PAGE_ROWS) {
      // The next page.
    }
  }

  async deleteHeader(group: string): Promise<void> {
    await this.#commit.write(() => {
      for (const statement of this.#deleteGroup) statement.run(group);
    });
  }
}

/** Each deletes a page of rows of a config in a run. */
const PAGES = [
  `DELETE FROM tasks WHERE task_no IN
    (SELECT task_no FROM tasks WHERE run = ? AND config = ? LIMIT ?)`,
  `DELETE FROM calls WHERE rowid IN
    (SELECT rowid FROM calls WHERE run = ? AND config = ? LIMIT ?)`,
  `DELETE FROM submissions WHERE (run, config, id, step) IN
    (SELECT run, config, id, step FROM submissions WHERE run = ? AND config = ? LIMIT ?)`,
  `DELETE FROM batched_calls WHERE (run, config, id, step) IN
    (SELECT run, config, id, step FROM batched_calls WHERE run = ? AND config = ? LIMIT ?)`,
];

const DELETE_RESPONSES = `DELETE FROM shared_calls WHERE (run, only_config, fingerprint, sample) IN
  (SELECT run, only_config, fingerprint, sample FROM shared_calls WHERE run = ? LIMIT ?)`;

const DELETE_CELLS = `DELETE FROM cells WHERE run = ? AND config = ? AND id IN
  (SELECT id FROM cells WHERE run = ? AND config = ?
    AND NOT (state = 'claimed' AND lease_until > ?) LIMIT ?)`;
