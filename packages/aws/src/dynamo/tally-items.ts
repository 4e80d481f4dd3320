import { isDeepStrictEqual } from 'node:util';
import {
  answeringConfigOf,
  type CellKey,
  type CellResult,
  type Tally,
  ThriceError,
  tallyChangeOf,
} from '@thrice/core';
import { collect } from './collect.ts';
import {
  parseItem,
  runPartition,
  TALLY_PREFIX,
  type TallyItem,
  tallyItemKey,
  tallyItemSchema,
} from './dynamo-items.ts';
import type { DynamoTable } from './dynamo-table.ts';

const SCHEMA_VERSION = 1;

/** The tallies in the ledger's table, one item for each config of a run. */
export class TallyItems {
  readonly #table: DynamoTable;

  constructor(table: DynamoTable) {
    this.#table = table;
  }

  /** Counts the result of a cell, or takes it back. */
  async count(key: CellKey, result: CellResult, sign: 1 | -1): Promise<Tally | undefined> {
    const changes = Object.entries(tallyChangeOf(key, result));
    return await this.add(key, Object.fromEntries(changes.map(([name, by]) => [name, sign * by])));
  }

  /**
   * Adds to the tally. The tally is a hint, so transient failures are ignored.
   *
   * @returns The tally as it is then; undefined after a failure.
   */
  async add(
    { run, config: ofCell }: CellKey,
    change: Partial<Omit<TallyItem, 'schemaVersion' | 'run' | 'config'>>,
  ): Promise<Tally | undefined> {
    const config = answeringConfigOf(ofCell);
    const set = { schemaVersion: SCHEMA_VERSION, run, config };
    // All of them, because an item that is new needs every count.
    const add = {
      scored: 0,
      unparsed: 0,
      ungraded: 0,
      failed: 0,
      correct: 0,
      costUsd: 0,
      retries: 0,
      wasteUsd: 0,
      overheadUsd: 0,
      unpricedCalls: 0,
      toGrade: 0,
      ...change,
      changeCount: 1,
    };
    try {
      const item = await this.#table.updateAndRead(tallyItemKey(run, config), { set, add });
      return toTally(parseItem(tallyItemSchema, item, this.#table.name));
    } catch (error) {
      if (!(error instanceof ThriceError) || error.class !== 'transient') throw error;
      return undefined;
    }
  }

  /** Reads the tallies of a run. */
  async read(run: string): Promise<readonly Tally[]> {
    const items = this.#table.query(runPartition(run), { prefix: TALLY_PREFIX });
    return await collect(items, (item) =>
      toTally(parseItem(tallyItemSchema, item, this.#table.name)),
    );
  }

  /** Replaces a tally; see `Ledger.replaceTally`. */
  async replace(existing: Tally | undefined, tally: Tally): Promise<boolean> {
    const { run, config, counts, ...sums } = tally;
    const storedItem = await this.#readItem(tally);
    const stored = storedItem && toTally(storedItem);
    if (isDeepStrictEqual(stored, tally)) return true;
    if (!isDeepStrictEqual(stored, existing)) return false;
    const set = {
      schemaVersion: SCHEMA_VERSION,
      run,
      config,
      ...counts,
      ...sums,
    };
    const change = { set, add: { changeCount: 1 } };
    const unchanged = storedItem === undefined ? 'absent' : { changeCount: storedItem.changeCount };
    if (await this.#table.update(tallyItemKey(run, config), change, unchanged)) return true;
    // This call has made the change itself if the response to its first request was lost.
    const itemNow = await this.#readItem(tally);
    return itemNow !== undefined && isDeepStrictEqual(toTally(itemNow), tally);
  }

  async #readItem({ run, config }: Tally): Promise<TallyItem | undefined> {
    const item = await this.#table.get(tallyItemKey(run, config));
    return item && parseItem(tallyItemSchema, item, this.#table.name);
  }
}

function toTally(item: TallyItem): Tally {
  const { schemaVersion: _, changeCount: __, scored, unparsed, ungraded, failed, ...sums } = item;
  return { ...sums, counts: { scored, unparsed, ungraded, failed } };
}
