import {
  type Clock,
  type GroupWork,
  limits,
  type WorkClaim,
  type WorkLeases,
  workLeaseMs,
} from '@thrice/core';
import {
  groupItemKey,
  parseItem,
  WORK_PREFIX,
  type WorkItem,
  workItemKey,
  workItemSchema,
} from './dynamo-items.ts';
import { DynamoTable, type ItemKey, type TableInit } from './dynamo-table.ts';

const SCHEMA_VERSION = 1 as const;
/** The owner of a free item, and the request of one that was removed in between. */
const NONE = '';
/** The owner of an item whose group is being deleted. */
const DELETION = 'deletion';

/**
 * Work in parts, as items beside those of their groups in the ledger's table.
 *
 * States of an item: (absent) --claim--> claimed --release--> free --claim--> claimed --end--> (absent). A free item has
 * a lease that has expired. A deletion owns the items of its group until it removes them with the header.
 */
export class DynamoWorkLeases implements WorkLeases {
  readonly #table: DynamoTable;
  readonly #clock: Clock;

  constructor(init: TableInit) {
    this.#table = new DynamoTable(init);
    this.#clock = init.clock;
  }

  async claim({ group, work }: GroupWork, owner: string, requestId: string): Promise<WorkClaim> {
    const key = workItemKey(group, work);
    const item = await this.#read(key);
    if (item !== undefined && item.leaseUntilMs > this.#clock.now()) return this.#heldBy(item);
    const failureCount = item?.claimCount ?? 0;
    const checkpoint = item?.checkpoint;
    const lease = {
      schemaVersion: SCHEMA_VERSION,
      owner,
      requestId,
      leaseUntilMs: this.#clock.now() + workLeaseMs(failureCount),
      claimCount: failureCount + 1,
    };
    const unchanged = item && { owner: item.owner, leaseUntilMs: item.leaseUntilMs };
    const isWritten = await this.#table.update(key, { set: lease }, unchanged ?? 'absent');
    const claimed = { kind: 'claimed', checkpoint, failureCount } as const;
    if (isWritten) return claimed;
    const other = await this.#read(key);
    // Refused all the same if the response to the first request was lost.
    if (other?.owner === owner) return claimed;
    return this.#heldBy(other ?? { ...lease, requestId: NONE, leaseUntilMs: 0 });
  }

  #heldBy({ requestId, claimCount, leaseUntilMs }: WorkItem): WorkClaim {
    const failureCount = Math.max(0, claimCount - 1);
    const leaseMs = Math.max(0, leaseUntilMs - this.#clock.now());
    return { kind: 'held', requestId, failureCount, leaseMs };
  }

  async extend({ group, work }: GroupWork, owner: string, leaseMs: number): Promise<boolean> {
    const set = { leaseUntilMs: this.#clock.now() + leaseMs };
    return await this.#table.update(workItemKey(group, work), { set }, { owner });
  }

  async save({ group, work }: GroupWork, owner: string, checkpoint: string): Promise<boolean> {
    const leaseUntilMs = this.#clock.now() + limits.leaseMs;
    const set = { leaseUntilMs, checkpoint, claimCount: 0 };
    return await this.#table.update(workItemKey(group, work), { set }, { owner });
  }

  async release({ group, work }: GroupWork, owner: string): Promise<void> {
    const set = { leaseUntilMs: 0, owner: NONE };
    await this.#table.update(workItemKey(group, work), { set }, { owner });
  }

  async end({ group, work }: GroupWork, owner: string): Promise<void> {
    await this.#table.remove(workItemKey(group, work), { owner });
  }

  async endAll(group: string): Promise<void> {
    for await (const { key } of this.#list(group)) await this.#table.remove(key);
  }

  async revokeAll(group: string): Promise<boolean> {
    let isInUse = false;
    for await (const { key, owner } of this.#list(group)) {
      isInUse ||= owner !== NONE;
      await this.#table.update(key, { set: { owner: DELETION } }, 'present');
    }
    return isInUse;
  }

  async *#list(group: string): AsyncIterable<{ readonly key: ItemKey; readonly owner: string }> {
    const { pk } = groupItemKey(group);
    for await (const item of this.#table.query(pk, { prefix: WORK_PREFIX })) {
      const { owner } = parseItem(workItemSchema, item, this.#table.name);
      yield { key: { pk, sk: String(item['sk']) }, owner };
    }
  }

  async #read(key: ItemKey): Promise<WorkItem | undefined> {
    const item = await this.#table.get(key);
    return item && parseItem(workItemSchema, item, this.#table.name);
  }
}
