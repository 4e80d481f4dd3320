import type { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import {
  type CacheClaim,
  type CachedResponse,
  type CacheEntry,
  type CellStep,
  type Clock,
  cellStepSchema,
  journalEntrySchema,
  limits,
  type ResponseCache,
  type SharedCall,
  submissionSchema,
} from '@thrice/core';
import * as z from 'zod';
import type { GroupCommit } from './group-commit.ts';
import { checkStored, readStored } from './read-stored.ts';
import { prepareStatements, type Statements, type StoreInit } from './sqlite-store.ts';
import type { WorkerRegistry } from './worker-registry.ts';

const claimRowSchema = z.object({
  buyer_run: z.string(),
  config: z.string(),
  id: z.string(),
  step: z.string(),
  claimed_at: z.number(),
});
const responseRowSchema = z.object({
  ...cellStepSchema.shape,
  call_no: z.number(),
  fingerprint: z.string(),
  sample: z.number(),
});
const buyerRowSchema = z.object({
  state: z.enum(['claimed', 'released', 'done']).nullable(),
  owner: z.string().nullable(),
  lease_until: z.number().nullable(),
  entry: z.string().nullable(),
  submission: z.string().nullable(),
});

/** The calls that cells share, in the SQLite file that has their journals. */
export class SqliteResponseCache implements ResponseCache {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #workers: WorkerRegistry;
  readonly #sql: Statements<keyof typeof STATEMENTS>;

  constructor(database: DatabaseSync, { commit, clock, workers }: StoreInit) {
    this.#commit = commit;
    this.#clock = clock;
    this.#workers = workers;
    this.#sql = prepareStatements(database, STATEMENTS);
  }

  async claimCall(call: SharedCall, buyer: CellStep): Promise<CacheClaim> {
    return await this.#commit.write((): CacheClaim => {
      const row = this.#sql.select.get(...keyOf(call));
      const other = row === undefined ? undefined : this.#readClaim(row, buyer);
      if (other !== undefined) return other;
      this.#sql.upsert.run(...keyOf(call), ...valuesOf(buyer), this.#clock.now());
      return { kind: 'granted' };
    });
  }

  async findCall(calls: readonly SharedCall[]): Promise<CachedResponse | undefined> {
    for (const call of calls) {
      const row = this.#sql.select.get(...keyOf(call));
      const found = row === undefined ? undefined : this.#readBuyer(row).response;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async addEntries(entries: readonly CacheEntry[]): Promise<void> {
    await this.#commit.write(() => {
      for (const { call, buyer } of entries)
        this.#sql.insert.run(...keyOf(call), ...valuesOf(buyer), this.#clock.now());
    });
  }

  async *listResponses(
    run: string,
    config: string,
    after = '0',
  ): ReturnType<ResponseCache['listResponses']> {
    let lastNo = Number(after);
    for (;;) {
      const page = this.#sql.list.all(run, config, lastNo, limits.pageSize);
      yield* page.map(parseResponse);
      if (page.length < limits.pageSize) return;
      lastNo = Number(page.at(-1)?.['call_no']);
    }
  }

  /** Returns undefined for a claim that the buyer may take over, or has itself. */
  #readClaim(row: unknown, own: CellStep): CacheClaim | undefined {
    const { buyer, response, isBuying, sinceMs } = this.#readBuyer(row);
    if (isDeepStrictEqual(buyer, own)) return undefined;
    if (response !== undefined) return { kind: 'bought', ...response };
    return isBuying ? { kind: 'held', sinceMs } : undefined;
  }

  #readBuyer(row: unknown) {
    const { buyer_run: run, config, id, step, claimed_at: sinceMs } = claimRowSchema.parse(row);
    const buyer: CellStep = { run, id, config, step };
    const stored = checkStored(
      buyerRowSchema,
      this.#sql.selectBuyer.get({ run, config, id, step }),
      `cell ${run} ${config} ${id}`,
    );
    const response =
      stored.entry === null
        ? undefined
        : {
            buyer,
            entry: readStored(journalEntrySchema, stored.entry, `a call of ${run} ${config} ${id}`),
          };
    return { buyer, response, isBuying: this.#isBuying(stored), sinceMs };
  }

  #isBuying({
    state,
    owner,
    lease_until: leaseUntil,
    submission,
  }: Omit<z.infer<typeof buyerRowSchema>, 'entry'>): boolean {
    if (state === null || state === 'done') return false;
    if (state === 'claimed') {
      if ((leaseUntil ?? 0) > this.#clock.now()) return true;
      if (owner !== null && this.#workers.isAtWork(owner)) return true;
    }
    if (submission === null) return false;
    return readStored(submissionSchema, submission, 'a submitted call').state === 'accepted';
  }
}

/** The columns of the primary key. */
function keyOf({ run, config, fingerprint, sample }: SharedCall) {
  return [run, config ?? '', fingerprint, sample] as const;
}

/** The columns that say who buys. */
function valuesOf({ run, config, id, step }: CellStep) {
  return [run, config, id, step] as const;
}

function parseResponse(row: unknown) {
  const {
    call_no: callNo,
    fingerprint,
    sample,
    ...buyer
  } = checkStored(responseRowSchema, row, 'a call that cells share');
  return { fingerprint, sample, buyer, place: String(callNo) };
}

const INSERT = 'INSERT INTO shared_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)';
const STATEMENTS = {
  select: `SELECT buyer_run, config, id, step, claimed_at FROM shared_calls
    WHERE run = ? AND only_config = ? AND fingerprint = ? AND sample = ?`,
  selectBuyer: `SELECT
      (SELECT state FROM cells WHERE run = $run AND config = $config AND id = $id) AS state,
      (SELECT owner FROM cells WHERE run = $run AND config = $config AND id = $id) AS owner,
      (SELECT lease_until FROM cells WHERE run = $run AND config = $config AND id = $id) AS lease_until,
      (SELECT entry FROM calls WHERE run = $run AND config = $config AND id = $id
        AND step = $step AND discarded_id = '') AS entry,
      (SELECT submission FROM submissions WHERE run = $run AND config = $config AND id = $id
        AND step = $step) AS submission`,
  insert: `${INSERT} ON CONFLICT DO NOTHING`,
  upsert: `${INSERT} ON CONFLICT DO UPDATE SET
    buyer_run = excluded.buyer_run, config = excluded.config, id = excluded.id, step = excluded.step,
    claimed_at = excluded.claimed_at`,
  list: `SELECT rowid AS call_no, run, config, id, step, entry ->> '$.fingerprint' AS fingerprint,
      entry ->> '$.sample' AS sample
    FROM calls WHERE run = ? AND config = ? AND discarded_id = '' AND rowid > ? ORDER BY rowid LIMIT ?`,
} as const;
