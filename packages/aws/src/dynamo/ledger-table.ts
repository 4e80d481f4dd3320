import { randomUUID } from 'node:crypto';
import type { BlobStore, Clock } from '@thrice/core';
import { CallItems } from './call-items.ts';
import { DynamoTable, type TableInit } from './dynamo-table.ts';
import { PayloadStore } from './payload-store.ts';

/** Dependencies of the classes that keep calls and tell their own writes from those of others. */
export interface LedgerTableInit extends TableInit {
  /** Stores the payloads that are too large for an item. */
  readonly blobs: BlobStore;
  /** @default a random UUID */
  readonly createToken?: () => string;
}

/** The table of the ledger, with what is stored in it and beside it. */
export interface LedgerTable {
  readonly table: DynamoTable;
  readonly payloads: PayloadStore;
  readonly calls: CallItems;
  readonly clock: Clock;
  /** Creates a token for a write. */
  readonly createToken: () => string;
}

/** Opens the table of the ledger. */
export function openLedgerTable(init: LedgerTableInit): LedgerTable {
  const table = new DynamoTable(init);
  const payloads = new PayloadStore(init.blobs);
  const { clock, createToken = randomUUID } = init;
  return { table, payloads, calls: new CallItems(table, payloads), clock, createToken };
}
