import { randomUUID } from 'node:crypto';
import {
  type BlobStore,
  type CallPool,
  type CellStep,
  type Clock,
  cellStepSchema,
  journalEntrySchema,
  type PoolClaim,
  type PooledCall,
  ThriceError,
} from '@thrice/core';
import {
  callItemKey,
  callItemSchema,
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

/**
 * The calls that cells share, in the ledger's table.
 *
 * An item says who buys a call; whether it is bought, the buyer's journal says. A claim is a write. One that finds
 * another's is followed by two reads: the claim, then the buyer's call, cell and submission together.
 *
 * When a response is lost, the SDK repeats the request, and its condition fails because of the first one. Each claim
 * therefore stores a token in the item and checks for it.
 */
export class DynamoCallPool implements CallPool {
  readonly #table: DynamoTable;
  readonly #clock: Clock;
  readonly #payloads: PayloadStore;
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
    this.#payloads = new PayloadStore(init.blobs);
    this.#createToken = init.createToken ?? randomUUID;
  }

  async claimCall(call: PooledCall, buyer: CellStep): Promise<PoolClaim> {
    const key = pooledCallKey(call);
    const token = this.#createToken();
    const own = {
      schemaVersion: 1,
      buyer: JSON.stringify(buyer),
      claimedAtMs: this.#clock.now(),
      token,
    };
    let stored: PooledCallItem | undefined;
    for (let refusalCount = 0; refusalCount < MAX_REFUSALS; refusalCount += 1) {
      const other = stored && (await this.#findOther(stored, own.buyer));
      if (other !== undefined) return other;
      const unchanged = stored === undefined ? 'absent' : { token: stored.token };
      if (await this.#table.put(key, own, unchanged)) return { kind: 'granted' };
      const item = await this.#table.get(key);
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

  /** Returns undefined for a buyer that neither has the call nor is about to. */
  async #readBuyer(text: string, sinceMs: number): Promise<PoolClaim | undefined> {
    const buyer = cellStepSchema.parse(JSON.parse(text));
    const [callKey, cellKey] = [callItemKey(buyer, buyer.step), cellItemKey(buyer)];
    const submissionKey = submissionItemKey(buyer, buyer.step);
    const items = await this.#table.getMany([callKey, cellKey, submissionKey]);
    const callItem = itemOf(callKey, items);
    if (callItem !== undefined) return await this.#readPurchase(buyer, callItem);
    if (this.#isBuying(itemOf(cellKey, items), itemOf(submissionKey, items)))
      return { kind: 'held', sinceMs };
    // The items of one request are read at different instants: a buyer that has ended may have bought in between.
    const later = await this.#table.get(callKey);
    return later === undefined ? undefined : await this.#readPurchase(buyer, later);
  }

  async #readPurchase(buyer: CellStep, item: Attributes): Promise<PoolClaim> {
    const text = await this.#payloads.unpack(parseItem(callItemSchema, item, this.#table.name));
    return { kind: 'bought', buyer, entry: journalEntrySchema.parse(JSON.parse(text ?? '')) };
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

function itemOf({ pk, sk }: ItemKey, items: readonly Attributes[]): Attributes | undefined {
  return items.find((item) => item['pk'] === pk && item['sk'] === sk);
}
