import { randomUUID } from 'node:crypto';
import type { Parked, Watched, Watchlist } from '@thrice/core';
import {
  parkedItemSchema,
  parseItem,
  WATCH_GROUPS,
  WATCH_PARKED,
  watchedItemSchema,
} from './dynamo-items.ts';
import { DynamoTable, type TableInit } from './dynamo-table.ts';

const SCHEMA_VERSION = 1;

/** The watchlist in the ledger's table: two partitions that are short, for what is done leaves them. */
export class DynamoWatchlist implements Watchlist {
  readonly #table: DynamoTable;
  readonly #createToken: () => string;

  /** @param init.createToken - @default a random UUID */
  constructor(init: TableInit & { readonly createToken?: () => string }) {
    this.#table = new DynamoTable(init);
    this.#createToken = init.createToken ?? randomUUID;
  }

  async watch(group: string): Promise<void> {
    const item = { schemaVersion: SCHEMA_VERSION, group, token: this.#createToken() };
    await this.#table.put(watchedKey(group), item);
  }

  async unwatch({ group, token }: Watched): Promise<void> {
    await this.#table.remove(watchedKey(group), { token });
  }

  async listWatched(): Promise<readonly Watched[]> {
    const watched: Watched[] = [];
    for await (const item of this.#table.query(WATCH_GROUPS, {})) {
      const { group, token } = parseItem(watchedItemSchema, item, this.#table.name);
      watched.push({ group, token });
    }
    return watched;
  }

  async park(subject: string, group: string): Promise<void> {
    const token = this.#createToken();
    const item = { schemaVersion: SCHEMA_VERSION, subject, group, token };
    await this.#table.put(parkedKey({ subject, group }), item);
  }

  async listParked(): Promise<readonly Parked[]> {
    const parked: Parked[] = [];
    for await (const item of this.#table.query(WATCH_PARKED, {})) {
      const { subject, group, token } = parseItem(parkedItemSchema, item, this.#table.name);
      parked.push({ subject, group, token });
    }
    return parked;
  }

  async unpark(parked: Parked): Promise<void> {
    await this.#table.remove(parkedKey(parked), { token: parked.token });
  }
}

function watchedKey(group: string) {
  return { pk: WATCH_GROUPS, sk: group };
}

/** A group's name holds no `#`; a model's may. */
function parkedKey({ subject, group }: Pick<Parked, 'subject' | 'group'>) {
  return { pk: WATCH_PARKED, sk: `${group}#${subject}` };
}
