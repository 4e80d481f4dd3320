import {
  type CellStep,
  type DiscardedCall,
  type JournalEntry,
  journalEntrySchema,
} from '@thrice/core';
import {
  CALL_PREFIX,
  callItemKey,
  cellPartitions,
  DISCARDED_PREFIX,
  discardedItemSchema,
  entryItemSchema,
  parseItem,
} from './dynamo-items.ts';
import type { Attributes, DynamoTable } from './dynamo-table.ts';
import type { PayloadStore } from './payload-store.ts';

/** A call of the journal, with its cell. */
type CellCall = DiscardedCall;

/** The calls of cells in the ledger's table. */
export class CallItems {
  readonly #table: DynamoTable;
  readonly #payloads: PayloadStore;

  constructor(table: DynamoTable, payloads: PayloadStore) {
    this.#table = table;
    this.#payloads = payloads;
  }

  /** Lists all calls of a config in a run. */
  async *list(run: string, config: string): AsyncIterable<CellCall> {
    yield* this.listAnswers(run, config);
    for (const pk of cellPartitions(run, config)) yield* this.listDiscarded(pk);
  }

  /**
   * Lists the calls of a config in a run that answer their steps, by partition and sort key.
   *
   * @param after - Only those behind this one. @default all
   */
  async *listAnswers(
    run: string,
    config: string,
    after?: Pick<CellStep, 'id' | 'step'>,
  ): AsyncIterable<CellCall> {
    const last = after && callItemKey({ run, config, id: after.id }, after.step);
    const partitions = cellPartitions(run, config);
    const first = last === undefined ? 0 : partitions.indexOf(last.pk);
    for (const pk of partitions.slice(first)) {
      const behind = pk === last?.pk ? last.sk : undefined;
      for await (const item of this.#table.query(pk, { prefix: CALL_PREFIX, after: behind })) {
        const entry = await this.parse(item);
        const id = String(item['sk']).slice(CALL_PREFIX.length, -`#${entry.step}`.length);
        yield { id, entry };
      }
    }
  }

  /** Lists the discarded calls of a partition: of all its cells, or of the wanted ones. */
  async *listDiscarded(pk: string, wanted?: ReadonlySet<string>): AsyncIterable<CellCall> {
    const [only, second] = wanted ?? [];
    const isOne = only !== undefined && second === undefined;
    const prefix = isOne ? `${DISCARDED_PREFIX}${only}#` : DISCARDED_PREFIX;
    for await (const item of this.#table.query(pk, { prefix })) {
      const { id } = parseItem(discardedItemSchema, item, this.#table.name);
      if (wanted?.has(id) === false) continue;
      yield { id, entry: await this.parse(item) };
    }
  }

  /** Parses the item of a call, discarded or not. */
  async parse(item: Attributes): Promise<JournalEntry> {
    const text = await this.#payloads.unpack(parseItem(entryItemSchema, item, this.#table.name));
    return journalEntrySchema.parse(JSON.parse(text ?? ''));
  }
}
