import type { LaneState, LaneStates } from '@thrice/core';
import { laneStateItemSchema, laneStateKey, parseItem } from './dynamo-items.ts';
import { type Attributes, DynamoTable, type TableInit } from './dynamo-table.ts';

/** The records of lanes in the ledger's table, one item per lane. */
export class DynamoLaneStates implements LaneStates {
  readonly #table: DynamoTable;

  constructor(init: TableInit) {
    this.#table = new DynamoTable(init);
  }

  async read(lane: string): Promise<LaneState | undefined> {
    const item = await this.#table.get(laneStateKey(lane));
    return item && parseLaneState(item, this.#table.name);
  }

  async replace(lane: string, existing: LaneState | undefined, next: LaneState): Promise<boolean> {
    const key = laneStateKey(lane);
    const { schemaVersion, revision } = next;
    const set = { schemaVersion, revision, payload: JSON.stringify(next) };
    return existing === undefined
      ? await this.#table.put(key, set, 'absent')
      : await this.#table.update(key, { set }, { revision: existing.revision });
  }
}

/** Parses the item of a lane. */
export function parseLaneState(item: Attributes, tableName: string): LaneState {
  return parseItem(laneStateItemSchema, item, tableName).payload;
}
