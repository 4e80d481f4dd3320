import {
  type CacheClaim,
  type CachedResponse,
  type CacheEntry,
  type CellStep,
  cellStepSchema,
  mapBounded,
  type ResponseCache,
  type SharedCall,
  ThriceError,
} from '@thrice/core';
import {
  callItemKey,
  cellItemKey,
  cellItemSchema,
  parseItem,
  type SharedCallItem,
  sharedCallItemSchema,
  sharedCallKey,
  submissionItemKey,
  submissionItemSchema,
} from './dynamo-items.ts';
import type { Attributes, ItemKey } from './dynamo-table.ts';
import { type LedgerTable, type LedgerTableInit, openLedgerTable } from './ledger-table.ts';

/** How often a claim may be refused because another process changed it first. */
const MAX_REFUSALS = 10;
/** Concurrent writes of entries. */
const MAX_CONCURRENT_REQUESTS = 16;

/** Where a call stands among those of its config in its run. */
const placeSchema = cellStepSchema.pick({ id: true, step: true });

/**
 * The calls that cells share, in the ledger's table.
 *
 * An item says who buys a call; whether it is bought, the buyer's journal says. A claim is a write. One that finds
 * another's comes back with it, and is followed by one read: of the buyer's call, cell and submission together.
 *
 * When a response is lost, the SDK repeats the request, and its condition fails because of the first one. Each claim
 * therefore stores a token in the item and checks for it.
 */
export class DynamoResponseCache implements ResponseCache {
  readonly #on: LedgerTable;

  constructor(init: LedgerTableInit) {
    this.#on = openLedgerTable(init);
  }

  async claimCall(call: SharedCall, buyer: CellStep): Promise<CacheClaim> {
    const key = sharedCallKey(call);
    const token = this.#on.createToken();
    const own = {
      schemaVersion: 1,
      buyer: textOf(buyer),
      claimedAtMs: this.#on.clock.now(),
      token,
    };
    let stored: SharedCallItem | undefined;
    for (let refusalCount = 0; refusalCount < MAX_REFUSALS; refusalCount += 1) {
      const other = stored && (await this.#findOther(stored, own.buyer));
      if (other !== undefined) return other;
      const unchanged = stored === undefined ? 'absent' : { token: stored.token };
      const item = await this.#on.table.putOrRead(key, own, unchanged);
      if (item === 'written') return { kind: 'granted' };
      stored = item && parseItem(sharedCallItemSchema, item, this.#on.table.name);
      // The response to the first request was lost.
      if (stored?.token === token) return { kind: 'granted' };
    }
    throw new ThriceError({
      code: 'store-unavailable',
      message: `${this.#on.table.name}: the claim for call ${call.fingerprint} of ${call.run} changed ${MAX_REFUSALS} times during one claim; try again`,
    });
  }

  /** Returns undefined where the call is free, or the buyer's own. */
  async #findOther(
    { buyer, claimedAtMs }: SharedCallItem,
    ownBuyer: string,
  ): Promise<CacheClaim | undefined> {
    return buyer === ownBuyer ? undefined : await this.#readBuyer(buyer, claimedAtMs);
  }

  async findCall(calls: readonly SharedCall[]): Promise<CachedResponse | undefined> {
    const keys = calls.map(sharedCallKey);
    const items = await this.#on.table.getMany(keys);
    for (const key of keys) {
      const item = itemOf(key, items);
      if (item === undefined) continue;
      const { buyer: text } = parseItem(sharedCallItemSchema, item, this.#on.table.name);
      const buyer = cellStepSchema.parse(JSON.parse(text));
      const call = await this.#on.table.get(callItemKey(buyer, buyer.step));
      if (call !== undefined) return await this.#readResponse(buyer, call);
    }
    return undefined;
  }

  async addEntries(entries: readonly CacheEntry[]): Promise<void> {
    const claimedAtMs = this.#on.clock.now();
    await mapBounded(entries, MAX_CONCURRENT_REQUESTS, async ({ call, buyer }) => {
      const facts = { schemaVersion: 1, buyer: textOf(buyer), claimedAtMs };
      await this.#on.table.put(
        sharedCallKey(call),
        { ...facts, token: this.#on.createToken() },
        'absent',
      );
    });
  }

  async *listResponses(
    run: string,
    config: string,
    after?: string,
  ): ReturnType<ResponseCache['listResponses']> {
    const from = after === undefined ? undefined : placeSchema.parse(JSON.parse(after));
    for await (const { id, entry } of this.#on.calls.listAnswers(run, config, from)) {
      const { step, fingerprint, sample } = entry;
      yield {
        fingerprint,
        sample,
        buyer: { run, config, id, step },
        place: JSON.stringify({ id, step }),
      };
    }
  }

  /** Returns undefined for a buyer that neither has the call nor is about to. */
  async #readBuyer(text: string, sinceMs: number): Promise<CacheClaim | undefined> {
    const buyer = cellStepSchema.parse(JSON.parse(text));
    const [callKey, cellKey] = [callItemKey(buyer, buyer.step), cellItemKey(buyer)];
    const submissionKey = submissionItemKey(buyer, buyer.step);
    const items = await this.#on.table.getMany([callKey, cellKey, submissionKey]);
    const callItem = itemOf(callKey, items);
    if (callItem !== undefined)
      return { kind: 'bought', ...(await this.#readResponse(buyer, callItem)) };
    if (this.#isBuying(itemOf(cellKey, items), itemOf(submissionKey, items)))
      return { kind: 'held', sinceMs };
    // The items of one request are read at different instants: a buyer that has ended may have bought in between.
    const later = await this.#on.table.get(callKey);
    if (later === undefined) return undefined;
    return { kind: 'bought', ...(await this.#readResponse(buyer, later)) };
  }

  async #readResponse(buyer: CellStep, item: Attributes): Promise<CachedResponse> {
    return { buyer, entry: await this.#on.calls.parse(item) };
  }

  #isBuying(cellItem: Attributes | undefined, submissionItem: Attributes | undefined): boolean {
    if (cellItem === undefined) return false;
    const cell = parseItem(cellItemSchema, cellItem, this.#on.table.name);
    if (cell.state === 'done') return false;
    if (cell.state === 'claimed' && cell.leaseUntilMs > this.#on.clock.now()) return true;
    if (submissionItem === undefined) return false;
    return (
      parseItem(submissionItemSchema, submissionItem, this.#on.table.name).state === 'accepted'
    );
  }
}

/** In an order that does not depend on who wrote it. */
function textOf({ run, id, config, step }: CellStep): string {
  return JSON.stringify({ run, id, config, step });
}

function itemOf({ pk, sk }: ItemKey, items: readonly Attributes[]): Attributes | undefined {
  return items.find((item) => item['pk'] === pk && item['sk'] === sk);
}
