import { randomUUID } from 'node:crypto';
import {
  type BlobStore,
  type CallPool,
  type CellStep,
  type Clock,
  cellStepSchema,
  mapBounded,
  type PoolClaim,
  type PooledCall,
  type Purchase,
  type RecordedPurchase,
  ThriceError,
} from '@thrice/core';
import { CallItems } from './call-items.ts';
import {
  callItemKey,
  cellItemKey,
  cellItemSchema,
  type PooledCallItem,
  parseItem,
  pooledCallItemSchema,
  pooledCallKey,
  submissionItemKey,
  submissionItemSchema,
} from './dynamo-items.ts';
import { type Attributes, DynamoTable, type ItemKey, type TableInit } from './dynamo-table.ts';
import { PayloadStore } from './payload-store.ts';

/** How often a claim may be refused because another process changed it first. */
const MAX_REFUSALS = 10;
/** Concurrent writes of purchases. */
const MAX_CONCURRENT_REQUESTS = 16;

/**
 * The calls that cells share, in the ledger's table.
 *
 * An item says who buys a call; whether it is bought, the buyer's journal says. A claim is a write. One that finds
 * another's comes back with it, and is followed by one read: of the buyer's call, cell and submission together.
 *
 * When a response is lost, the SDK repeats the request, and its condition fails because of the first one. Each claim
 * therefore stores a token in the item and checks for it.
 */
export class DynamoCallPool implements CallPool {
  readonly #table: DynamoTable;
  readonly #clock: Clock;
  readonly #calls: CallItems;
  readonly #createToken: () => string;

  /** @param init.blobs - Has the calls that are too large for an item. */
  constructor(
    init: TableInit & {
      readonly blobs: BlobStore;
      /** @default a random UUID */
      readonly createToken?: () => string;
    },
  ) {
    this.#table = new DynamoTable(init);
    this.#clock = init.clock;
    this.#calls = new CallItems(this.#table, new PayloadStore(init.blobs));
    this.#createToken = init.createToken ?? randomUUID;
  }

  async claimCall(call: PooledCall, buyer: CellStep): Promise<PoolClaim> {
    const key = pooledCallKey(call);
    const token = this.#createToken();
    const own = {
      schemaVersion: 1,
      buyer: textOf(buyer),
      claimedAtMs: this.#clock.now(),
      token,
    };
    let stored: PooledCallItem | undefined;
    for (let refusalCount = 0; refusalCount < MAX_REFUSALS; refusalCount += 1) {
      const other = stored && (await this.#findOther(stored, own.buyer));
      if (other !== undefined) return other;
      const unchanged = stored === undefined ? 'absent' : { token: stored.token };
      const item = await this.#table.putOrRead(key, own, unchanged);
      if (item === 'written') return { kind: 'granted' };
      stored = item && parseItem(pooledCallItemSchema, item, this.#table.name);
      // The response to the first request was lost.
      if (stored?.token === token) return { kind: 'granted' };
    }
    throw new ThriceError({
      code: 'store-unavailable',
      message: `${this.#table.name}: the claim for call ${call.fingerprint} of ${call.run} changed ${MAX_REFUSALS} times during one claim; try again`,
    });
  }

  /** Returns undefined where the call is free, or the buyer's own. */
  async #findOther(
    { buyer, claimedAtMs }: PooledCallItem,
    ownBuyer: string,
  ): Promise<PoolClaim | undefined> {
    return buyer === ownBuyer ? undefined : await this.#readBuyer(buyer, claimedAtMs);
  }

  async findCall(calls: readonly PooledCall[]): Promise<Purchase | undefined> {
    const keys = calls.map(pooledCallKey);
    const items = await this.#table.getMany(keys);
    for (const key of keys) {
      const item = itemOf(key, items);
      if (item === undefined) continue;
      const { buyer: text } = parseItem(pooledCallItemSchema, item, this.#table.name);
      const buyer = cellStepSchema.parse(JSON.parse(text));
      const call = await this.#table.get(callItemKey(buyer, buyer.step));
      if (call !== undefined) return await this.#readPurchase(buyer, call);
    }
    return undefined;
  }

  async recordPurchases(purchases: readonly RecordedPurchase[]): Promise<void> {
    const claimedAtMs = this.#clock.now();
    await mapBounded(purchases, MAX_CONCURRENT_REQUESTS, async ({ call, buyer }) => {
      const facts = { schemaVersion: 1, buyer: textOf(buyer), claimedAtMs };
      await this.#table.put(
        pooledCallKey(call),
        { ...facts, token: this.#createToken() },
        'absent',
      );
    });
  }

  async *listPurchases(run: string, config: string): ReturnType<CallPool['listPurchases']> {
    for await (const { id, entry } of this.#calls.listAnswers(run, config)) {
      const { step, fingerprint, sample } = entry;
      yield { fingerprint, sample, buyer: { run, config, id, step } };
    }
  }

  /** Returns undefined for a buyer that neither has the call nor is about to. */
  async #readBuyer(text: string, sinceMs: number): Promise<PoolClaim | undefined> {
    const buyer = cellStepSchema.parse(JSON.parse(text));
    const [callKey, cellKey] = [callItemKey(buyer, buyer.step), cellItemKey(buyer)];
    const submissionKey = submissionItemKey(buyer, buyer.step);
    const items = await this.#table.getMany([callKey, cellKey, submissionKey]);
    const callItem = itemOf(callKey, items);
    if (callItem !== undefined)
      return { kind: 'bought', ...(await this.#readPurchase(buyer, callItem)) };
    if (this.#isBuying(itemOf(cellKey, items), itemOf(submissionKey, items)))
      return { kind: 'held', sinceMs };
    // The items of one request are read at different instants: a buyer that has ended may have bought in between.
    const later = await this.#table.get(callKey);
    if (later === undefined) return undefined;
    return { kind: 'bought', ...(await this.#readPurchase(buyer, later)) };
  }

  async #readPurchase(buyer: CellStep, item: Attributes): Promise<Purchase> {
    return { buyer, entry: await this.#calls.parse(item) };
  }

  #isBuying(cellItem: Attributes | undefined, submissionItem: Attributes | undefined): boolean {
    if (cellItem === undefined) return false;
    const cell = parseItem(cellItemSchema, cellItem, this.#table.name);
    if (cell.state === 'done') return false;
    if (cell.state === 'claimed' && cell.leaseUntilMs > this.#clock.now()) return true;
    if (submissionItem === undefined) return false;
    return parseItem(submissionItemSchema, submissionItem, this.#table.name).state === 'accepted';
  }
}

/** In an order that does not depend on who wrote it. */
function textOf({ run, id, config, step }: CellStep): string {
  return JSON.stringify({ run, id, config, step });
}

function itemOf({ pk, sk }: ItemKey, items: readonly Attributes[]): Attributes | undefined {
  return items.find((item) => item['pk'] === pk && item['sk'] === sk);
}
