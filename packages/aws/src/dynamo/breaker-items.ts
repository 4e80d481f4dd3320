import { isDeepStrictEqual } from 'node:util';
import { mapBounded, type OpenBreaker, openBreakerSchema } from '@thrice/core';
import { collect } from './collect.ts';
import {
  breakerItemKey,
  breakerItemSchema,
  LANE_LIST,
  laneListItemSchema,
  laneListKey,
  parseItem,
} from './dynamo-items.ts';
import type { Attributes, DynamoTable } from './dynamo-table.ts';
import type { PayloadStore } from './payload-store.ts';

const SCHEMA_VERSION = 1;
/** Breakers that are read concurrently. */
const MAX_CONCURRENT_REQUESTS = 16;

/** The open breakers in the ledger's table, and the list of those that have ever been open. */
export class BreakerItems {
  readonly #table: DynamoTable;
  readonly #payloads: PayloadStore;

  constructor(table: DynamoTable, payloads: PayloadStore) {
    this.#table = table;
    this.#payloads = payloads;
  }

  /** Opens a breaker; see `Ledger.openBreaker`. */
  async open(breaker: OpenBreaker): Promise<void> {
    const { breakerKey } = breaker;
    const payload = await this.#payloads.pack(JSON.stringify(breaker));
    // The list entry goes first and is never removed: readers skip an entry whose breaker is closed.
    await this.#table.put(laneListKey(breakerKey), { schemaVersion: SCHEMA_VERSION, breakerKey });
    await this.#table.put(breakerItemKey(breakerKey), {
      schemaVersion: SCHEMA_VERSION,
      ...payload,
    });
  }

  /** Closes a breaker; see `Ledger.closeBreaker`. */
  async close(breaker: OpenBreaker): Promise<boolean> {
    const key = breakerItemKey(breaker.breakerKey);
    const item = await this.#table.get(key);
    if (item === undefined) return true;
    const [stored] = await this.parse([item]);
    if (!isDeepStrictEqual(stored, breaker)) return false;
    const { payload, payloadKey } = parseItem(breakerItemSchema, item, this.#table.name);
    const unchanged = payload === undefined ? { payloadKey: payloadKey ?? '' } : { payload };
    if (await this.#table.remove(key, unchanged)) return true;
    // Removed by the first request if its response was lost.
    return (await this.#table.get(key)) === undefined;
  }

  /** Lists the open breakers. */
  async list(): Promise<readonly OpenBreaker[]> {
    const entries = await collect(this.#table.query(LANE_LIST, {}), (item) =>
      parseItem(laneListItemSchema, item, this.#table.name),
    );
    const keys = entries.map(({ breakerKey }) => breakerItemKey(breakerKey));
    return await this.parse(await this.#table.getMany(keys));
  }

  /** Parses the items of open breakers. */
  async parse(items: readonly Attributes[]): Promise<readonly OpenBreaker[]> {
    return await mapBounded(items, MAX_CONCURRENT_REQUESTS, async (item) => {
      const text = await this.#payloads.unpack(
        parseItem(breakerItemSchema, item, this.#table.name),
      );
      return openBreakerSchema.parse(JSON.parse(text ?? ''));
    });
  }
}
