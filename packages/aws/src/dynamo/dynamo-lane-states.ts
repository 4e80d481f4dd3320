import { type LaneState, type LaneStates, unknownLane } from '@thrice/core';
import * as z from 'zod';
import { laneStateItemSchema, laneStateKey } from './dynamo-items.ts';
import { type Attributes, DynamoTable, type TableInit } from './dynamo-table.ts';

/** The records of lanes in the ledger's table, one item per lane. */
export class DynamoLaneStates implements LaneStates {
  readonly #table: DynamoTable;

  constructor(init: TableInit) {
    this.#table = new DynamoTable(init);
  }

  async read(lane: string): Promise<LaneState | undefined> {
    const item = await this.#table.get(laneStateKey(lane));
    return item && parseLaneState(lane, item);
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

/** Parses the item of a lane. Of one that cannot be read, only the revision counts, which the next write compares. */
export function parseLaneState(lane: string, item: Attributes): LaneState {
  const { data } = laneStateItemSchema.safeParse(item);
  if (data !== undefined) return data.payload;
  return { ...unknownLane(lane, 0), revision: z.int().catch(0).parse(item['revision']) };
}
