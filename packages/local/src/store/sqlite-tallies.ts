import type { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import {
  answeringConfigOf,
  type CellKey,
  type CellResult,
  type Tally,
  tallyChangeOf,
  tallySchema,
} from '@thrice/core';
import { checkStored } from './read-stored.ts';
import { prepareStatements, type Statements } from './sqlite-store.ts';

type TallyNumbers = Omit<Tally, 'run' | 'config' | 'counts'> & Tally['counts'];

/** The column of each number of a tally. */
const COLUMNS: Readonly<Record<keyof TallyNumbers, string>> = {
  scored: 'scored',
  unparsed: 'unparsed',
  ungraded: 'ungraded',
  failed: 'failed',
  toGrade: 'to_grade',
  correct: 'correct',
  costUsd: 'cost_usd',
  wasteUsd: 'waste_usd',
  overheadUsd: 'overhead_usd',
  unpricedCalls: 'unpriced_calls',
  retries: 'retries',
};
const NOTHING = Object.fromEntries(Object.keys(COLUMNS).map((name) => [name, 0]));

/** The tallies in the ledger's SQLite file. They are changed within the ledger's transactions. */
export class SqliteTallies {
  readonly #sql: Statements<keyof typeof STATEMENTS>;

  constructor(database: DatabaseSync) {
    this.#sql = prepareStatements(database, STATEMENTS);
  }

  /** Counts the result of a cell, or takes it back. */
  count(key: CellKey, result: CellResult, sign: 1 | -1): void {
    const changes = Object.entries(tallyChangeOf(key, result));
    this.add(key, Object.fromEntries(changes.map(([name, by]) => [name, sign * by])));
  }

  /** Adds to the tally of the config that a cell answers or grades. */
  add({ run, config }: CellKey, change: Partial<TallyNumbers>): void {
    this.#sql.add.run({ run, config: answeringConfigOf(config), ...NOTHING, ...change });
  }

  /** Reads the tallies of a run. */
  read(run: string): readonly Tally[] {
    return this.#sql.select.all(run).map((row) => {
      const { scored, unparsed, ungraded, failed, ...rest } = row;
      const tally = { ...rest, counts: { scored, unparsed, ungraded, failed } };
      return checkStored(tallySchema, tally, 'the tally of a config');
    });
  }

  /** Replaces a tally; see `Ledger.replaceTally`. */
  replace(existing: Tally | undefined, tally: Tally): boolean {
    const stored = this.read(tally.run).find(({ config }) => config === tally.config);
    if (isDeepStrictEqual(stored, tally)) return true;
    if (!isDeepStrictEqual(stored, existing)) return false;
    const { counts, ...rest } = tally;
    this.#sql.replace.run({ ...rest, ...counts });
    return true;
  }
}

const columns = Object.values(COLUMNS);
const values = Object.keys(COLUMNS).map((name) => `$${name}`);
const aliases = Object.entries(COLUMNS).map(([name, column]) => `${column} AS ${name}`);
const sums = columns.map((column) => `${column} = ${column} + excluded.${column}`);
const WHOLE = `tallies (run, config, ${columns.join(', ')}) VALUES ($run, $config, ${values.join(', ')})`;
const STATEMENTS = {
  add: `INSERT INTO ${WHOLE} ON CONFLICT DO UPDATE SET ${sums.join(', ')}`,
  replace: `INSERT OR REPLACE INTO ${WHOLE}`,
  select: `SELECT run, config, ${aliases.join(', ')} FROM tallies WHERE run = ?`,
} as const;
