import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  type Attempt,
  attemptSchema,
  type BlobStore,
  type CellKey,
  type CellRecord,
  type CellResult,
  type Claim,
  type Clock,
  cellResultSchema,
  countRetries,
  type GroupHeader,
  type GroupRecord,
  type GroupState,
  groupHeaderSchema,
  hasScore,
  type JournalEntry,
  journalEntrySchema,
  type Ledger,
  limits,
  mapBounded,
  type OpenBreaker,
  openBreakerSchema,
  type Tally,
  ThriceError,
} from '@thrice/core';
import * as z from 'zod';
import {
  breakerItemKey,
  breakerItemSchema,
  type CellItem,
  callItemKey,
  callItemSchema,
  callsOf,
  cellItemKey,
  cellItemSchema,
  GROUP_LIST,
  groupItemKey,
  groupItemSchema,
  groupListItemSchema,
  groupListKey,
  LANE_LIST,
  laneListItemSchema,
  laneListKey,
  parseItem,
  runPartition,
  TALLY_PREFIX,
  type TallyItem,
  tallyItemKey,
  tallyItemSchema,
} from './dynamo-items.ts';
import { type Attributes, DynamoTable, type TableInit } from './dynamo-table.ts';
import { PayloadStore, payloadAttributes } from './payload-store.ts';

const SCHEMA_VERSION = 1;
/** Requests that one call of ours has in flight at once. */
const REQUESTS_AT_ONCE = 16;
/** Times a claim looks at its cell again after somebody else changed it in between. */
const MAX_LOOKS = 10;
const attemptLogSchema = z.array(attemptSchema);

/** How a claim takes a cell, and what it returns if it does. */
interface Taking {
  readonly cell: CellRecord;
  readonly isFirst: boolean;
  /** The result that a reopening forgets. */
  readonly forgotten?: CellResult | undefined;
}

/**
 * The ledger in one DynamoDB table, shared by any number of processes.
 *
 * A cell's item: (absent) --claim--> claimed --release--> released --claim--> claimed --complete--> done;
 * a done cell without a score is claimed again by a task of a later generation.
 *
 * Every write is one request under one condition. A request whose answer was lost is sent again by the
 * SDK and then refused by what it did itself: claims, completions and creations leave a token of their
 * own in the item and look for it before they believe a refusal.
 *
 * A tally is added to after its cell was completed (or reopened) and not if the worker dies in between
 * or the table refuses it: it may be short until it is counted anew.
 */
export class DynamoLedger implements Ledger {
  readonly #table: DynamoTable;
  readonly #clock: Clock;
  readonly #payloads: PayloadStore;
  readonly #createToken: () => string;

  /** @param init.blobs - Takes the payloads that are too large for an item. */
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

  async createGroup(header: GroupHeader, state: GroupState = 'active'): Promise<void> {
    const { group, createdAt } = header;
    const creationToken = this.#createToken();
    const names = { schemaVersion: SCHEMA_VERSION, group, createdAt };
    // The line first: one without its group is skipped by readers, a group without a line is lost.
    await this.#table.put(groupListKey(group, createdAt), names);
    const payload = await this.#payloads.pack(JSON.stringify(header));
    const item = { ...names, state, isPlanned: 0, creationToken, ...payload };
    if (await this.#table.put(groupItemKey(group), item, 'absent')) return;
    const existing = await this.#table.get(groupItemKey(group));
    if (existing?.['creationToken'] === creationToken) return;
    throw new ThriceError({ code: 'already-exists', message: `group ${group} exists already` });
  }

  async readGroup(group: string): Promise<GroupRecord | undefined> {
    const item = await this.#table.get(groupItemKey(group));
    return item === undefined ? undefined : await this.#parseGroup(item);
  }

  async listGroups(): Promise<readonly GroupRecord[]> {
    const lines = await collect(this.#table.query(GROUP_LIST, { isDescending: true }), (item) =>
      parseItem(groupListItemSchema, item, this.#table.name),
    );
    const names = [...new Set(lines.map(({ group }) => group))];
    const items = await this.#table.getMany(names.map(groupItemKey));
    const records = await mapBounded(items, REQUESTS_AT_ONCE, (item) => this.#parseGroup(item));
    const byName = new Map(records.map((record) => [record.header.group, record]));
    return lines.flatMap(({ group, createdAt }) => {
      const record = byName.get(group);
      // A line of another time was left by somebody who came second to the group's name.
      return record?.header.createdAt === createdAt ? [record] : [];
    });
  }

  async markPlanned(group: string): Promise<void> {
    await this.#table.update(groupItemKey(group), { set: { isPlanned: 1 } }, 'present');
  }

  async setGroupState(group: string, state: GroupState): Promise<void> {
    await this.#table.update(groupItemKey(group), { set: { state } }, 'present');
  }

  async #parseGroup(item: Attributes): Promise<GroupRecord> {
    const parsed = parseItem(groupItemSchema, item, this.#table.name);
    const text = await this.#payloads.unpack(parsed);
    return {
      state: parsed.state,
      isPlanned: parsed.isPlanned === 1,
      header: groupHeaderSchema.parse(JSON.parse(text ?? '')),
    };
  }

  async claimCell(key: CellKey, generation: number, owner: string): Promise<Claim> {
    const lease = {
      state: 'claimed',
      owner,
      leaseUntilMs: this.#clock.now() + limits.leaseMs,
      leaseToken: this.#createToken(),
    };
    let seen: CellItem | undefined;
    for (let look = 0; look < MAX_LOOKS; look += 1) {
      const taking = await this.#decideClaim(key, seen, generation);
      if ('kind' in taking) return taking;
      const isTaken = await this.#take(seen, taking, lease);
      if (!isTaken) seen = await this.#readItem(key);
      if (isTaken || (seen?.state === 'claimed' && seen.leaseToken === lease.leaseToken)) {
        const { cell, isFirst, forgotten } = taking;
        if (forgotten !== undefined) await this.#addToTally(key, forgotten, -1);
        return { kind: 'claimed', cell, isFirst };
      }
    }
    throw new ThriceError({
      code: 'store-unavailable',
      message: `${this.#table.name}: cell ${key.run} ${key.config} ${key.id} changed ${MAX_LOOKS} times during one claim; try again`,
    });
  }

  async #decideClaim(
    key: CellKey,
    seen: CellItem | undefined,
    generation: number,
  ): Promise<Taking | Claim> {
    if (seen === undefined) {
      const cell: CellRecord = { key, state: 'claimed', generation, attempts: 0, attemptLog: [] };
      return { cell, isFirst: true };
    }
    if (seen.state === 'claimed' && seen.leaseUntilMs > this.#clock.now()) return { kind: 'held' };
    const latest = Math.max(seen.generation, generation);
    const attemptLog = parseAttemptLog(seen);
    if (seen.state !== 'done') {
      // Whoever had it before died over it, or slept through its lease.
      const attempts = seen.state === 'claimed' ? seen.attempts + 1 : seen.attempts;
      return {
        cell: { key, state: 'claimed', generation: latest, attempts, attemptLog },
        isFirst: false,
      };
    }
    const forgotten = await this.#parseResult(seen);
    if (forgotten === undefined || hasScore(forgotten.outcome) || seen.generation >= generation) {
      return { kind: 'done' };
    }
    const cell: CellRecord = { key, state: 'claimed', generation, attempts: 0, attemptLog };
    return { cell, isFirst: false, forgotten };
  }

  /** Writes a lease into the cell, if it is still as it was seen. */
  async #take(
    seen: CellItem | undefined,
    { cell: { key, generation, attempts } }: Taking,
    lease: Attributes,
  ): Promise<boolean> {
    const set = { ...lease, generation, attempts };
    if (seen === undefined) {
      const item = { schemaVersion: SCHEMA_VERSION, id: key.id, ...set };
      return await this.#table.put(cellItemKey(key), item, 'absent');
    }
    const { state, leaseToken, leaseUntilMs } = seen;
    const remove = ['outcome', ...payloadAttributes];
    const asSeen = { state, leaseToken, leaseUntilMs };
    return await this.#table.update(cellItemKey(key), { set, remove }, asSeen);
  }

  async #readItem(key: CellKey): Promise<CellItem | undefined> {
    const item = await this.#table.get(cellItemKey(key));
    return item === undefined ? undefined : parseItem(cellItemSchema, item, this.#table.name);
  }

  async extendLeases(keys: readonly CellKey[], owner: string): Promise<readonly CellKey[]> {
    const set = { leaseUntilMs: this.#clock.now() + limits.leaseMs };
    const held = await mapBounded(keys, REQUESTS_AT_ONCE, (key) =>
      this.#table.update(cellItemKey(key), { set }, { state: 'claimed', owner }),
    );
    return keys.filter((_, index) => held[index] === false);
  }

  async releaseCell(
    key: CellKey,
    owner: string,
    attemptLog: readonly Attempt[],
    attempts: number,
  ): Promise<void> {
    const held = await this.#readHeld(key, owner);
    if (held === undefined) return;
    const set = {
      state: 'released',
      leaseUntilMs: 0,
      attempts,
      ...appendToAttemptLog(held, attemptLog),
    };
    const asSeen = { state: held.state, owner, leaseToken: held.leaseToken };
    // Refused: released by this very call, or lost meanwhile. Either way there is no more to do.
    await this.#table.update(cellItemKey(key), { set, remove: ['owner'] }, asSeen);
  }

  /** The cell, if the owner holds it. */
  async #readHeld(key: CellKey, owner: string): Promise<CellItem | undefined> {
    const item = await this.#readItem(key);
    return item?.state === 'claimed' && item.owner === owner ? item : undefined;
  }

  async commitCall(key: CellKey, entry: JournalEntry): Promise<JournalEntry> {
    const itemKey = callItemKey(key, entry.step);
    const payload = await this.#payloads.pack(JSON.stringify(entry));
    const item = { schemaVersion: SCHEMA_VERSION, ...payload };
    if (await this.#table.put(itemKey, item, 'absent')) return entry;
    const existing = await this.#table.get(itemKey);
    return existing === undefined ? entry : await this.#parseEntry(existing);
  }

  async readJournal(key: CellKey): Promise<ReadonlyMap<string, JournalEntry>> {
    const { pk, prefix } = callsOf(key);
    const items = await collect(this.#table.query(pk, { prefix }), (item) => item);
    const entries = await mapBounded(items, REQUESTS_AT_ONCE, (item) => this.#parseEntry(item));
    return new Map(entries.map((entry) => [entry.step, entry]));
  }

  async #parseEntry(item: Attributes): Promise<JournalEntry> {
    const text = await this.#payloads.unpack(parseItem(callItemSchema, item, this.#table.name));
    return journalEntrySchema.parse(JSON.parse(text ?? ''));
  }

  async completeCell(
    key: CellKey,
    owner: string,
    result: CellResult,
    attemptLog: readonly Attempt[],
  ): Promise<boolean> {
    const held = attemptLog.length === 0 ? undefined : await this.#readHeld(key, owner);
    if (attemptLog.length > 0 && held === undefined) return false;
    const completionToken = this.#createToken();
    const set = {
      state: 'done',
      leaseUntilMs: 0,
      attempts: result.attempts,
      outcome: result.outcome,
      completionToken,
      ...(held !== undefined && appendToAttemptLog(held, attemptLog)),
      ...(await this.#payloads.pack(JSON.stringify(result))),
    };
    const when = { state: 'claimed', owner, ...(held && { leaseToken: held.leaseToken }) };
    const isWritten = await this.#table.update(cellItemKey(key), { set, remove: ['owner'] }, when);
    if (!isWritten) {
      const existing = await this.#readItem(key);
      if (existing?.completionToken !== completionToken) return false;
    }
    await this.#addToTally(key, result, 1);
    return true;
  }

  /** Adds to the tally, a hint: what the table does not take for now is left out. */
  async #addToTally({ run, config }: CellKey, result: CellResult, sign: 1 | -1): Promise<void> {
    const count = (outcome: string) => (result.outcome === outcome ? sign : 0);
    const set = { schemaVersion: SCHEMA_VERSION, run, config };
    const add = {
      scored: count('scored'),
      unparsed: count('unparsed'),
      ungraded: count('ungraded'),
      failed: count('failed'),
      correct: result.score === 1 ? sign : 0,
      costUsd: sign * (result.costUsd ?? 0),
      retries: sign * countRetries(result),
      changeCount: 1,
    };
    try {
      await this.#table.update(tallyItemKey(run, config), { set, add });
    } catch (error) {
      if (!(error instanceof ThriceError) || error.class !== 'transient') throw error;
    }
  }

  async readCells(
    run: string,
    config: string,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, CellRecord>> {
    const keys = [...new Set(ids)].map((id) => cellItemKey({ run, config, id }));
    const items = await this.#table.getMany(keys);
    const records = await mapBounded(items, REQUESTS_AT_ONCE, async (item) => {
      const cell = parseItem(cellItemSchema, item, this.#table.name);
      const { id, state, generation, attempts } = cell;
      const result = await this.#parseResult(cell);
      const attemptLog = parseAttemptLog(cell);
      return { key: { run, config, id }, state, generation, attempts, attemptLog, result };
    });
    return new Map(records.map((record) => [record.key.id, record]));
  }

  async #parseResult(item: CellItem): Promise<CellResult | undefined> {
    const text = await this.#payloads.unpack(item);
    return text === undefined ? undefined : cellResultSchema.parse(JSON.parse(text));
  }

  async readTallies(run: string): Promise<readonly Tally[]> {
    const items = this.#table.query(runPartition(run), { prefix: TALLY_PREFIX });
    return await collect(items, (item) =>
      toTally(parseItem(tallyItemSchema, item, this.#table.name)),
    );
  }

  async replaceTally(existing: Tally | undefined, tally: Tally): Promise<boolean> {
    const { run, config, counts, correct, costUsd, retries } = tally;
    const seen = await this.#readTallyItem(tally);
    const now = seen && toTally(seen);
    if (isDeepStrictEqual(now, tally)) return true;
    if (!isDeepStrictEqual(now, existing)) return false;
    const names = { schemaVersion: SCHEMA_VERSION, run, config };
    const set = { ...names, ...counts, correct, costUsd, retries };
    const change = { set, add: { changeCount: 1 } };
    const asSeen = seen === undefined ? 'absent' : { changeCount: seen.changeCount };
    if (await this.#table.update(tallyItemKey(run, config), change, asSeen)) return true;
    // Refused by what this very call did, if its first answer was lost.
    const existingNow = await this.#readTallyItem(tally);
    return existingNow !== undefined && isDeepStrictEqual(toTally(existingNow), tally);
  }

  async #readTallyItem({ run, config }: Tally): Promise<TallyItem | undefined> {
    const item = await this.#table.get(tallyItemKey(run, config));
    return item && parseItem(tallyItemSchema, item, this.#table.name);
  }

  async openBreaker(breaker: OpenBreaker): Promise<void> {
    const { breakerKey } = breaker;
    const payload = await this.#payloads.pack(JSON.stringify(breaker));
    // The line first and for good: one whose open breaker is gone is skipped by readers.
    await this.#table.put(laneListKey(breakerKey), { schemaVersion: SCHEMA_VERSION, breakerKey });
    await this.#table.put(breakerItemKey(breakerKey), {
      schemaVersion: SCHEMA_VERSION,
      ...payload,
    });
  }

  async closeBreaker(breakerKey: string): Promise<void> {
    await this.#table.remove(breakerItemKey(breakerKey));
  }

  async listOpenBreakers(): Promise<readonly OpenBreaker[]> {
    const breakerKeys = await collect(this.#table.query(LANE_LIST, {}), (item) =>
      parseItem(laneListItemSchema, item, this.#table.name),
    );
    const keys = breakerKeys.map(({ breakerKey }) => breakerItemKey(breakerKey));
    const items = await this.#table.getMany(keys);
    return await mapBounded(items, REQUESTS_AT_ONCE, async (item) => {
      const text = await this.#payloads.unpack(
        parseItem(breakerItemSchema, item, this.#table.name),
      );
      return openBreakerSchema.parse(JSON.parse(text ?? ''));
    });
  }
}

function toTally({ run, config, correct, costUsd, retries, ...item }: TallyItem): Tally {
  const { scored, unparsed, ungraded, failed } = item;
  return { run, config, counts: { scored, unparsed, ungraded, failed }, correct, costUsd, retries };
}

function parseAttemptLog({ attemptLog }: CellItem): readonly Attempt[] {
  return attemptLog === undefined ? [] : attemptLogSchema.parse(JSON.parse(attemptLog));
}

function appendToAttemptLog(
  item: CellItem,
  attemptLog: readonly Attempt[],
): { readonly attemptLog?: string } {
  if (attemptLog.length === 0) return {};
  const all = [...parseAttemptLog(item), ...attemptLog];
  return { attemptLog: JSON.stringify(all.slice(-limits.attemptLogLength)) };
}

async function collect<T>(
  items: AsyncIterable<Attributes>,
  map: (item: Attributes) => T,
): Promise<readonly T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(map(item));
  return all;
}
