import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  type CallPool,
  type CellStep,
  type Clock,
  journalEntrySchema,
  type PoolClaim,
  type PooledCall,
  submissionSchema,
} from '@thrice/core';
import * as z from 'zod';
import type { GroupCommit } from './group-commit.ts';
import type { WorkerRegistry } from './worker-registry.ts';

const claimRowSchema = z.object({
  buyer_run: z.string(),
  config: z.string(),
  id: z.string(),
  step: z.string(),
  claimed_at: z.number(),
});
const buyerRowSchema = z.object({
  state: z.enum(['claimed', 'released', 'done']).nullable(),
  owner: z.string().nullable(),
  lease_until: z.number().nullable(),
  entry: z.string().nullable(),
  submission: z.string().nullable(),
});

/** The calls that cells share, in the SQLite file that has their journals. */
export class SqliteCallPool implements CallPool {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #workers: WorkerRegistry;
  readonly #select: StatementSync;
  readonly #selectBuyer: StatementSync;
  readonly #upsert: StatementSync;

  constructor(
    database: DatabaseSync,
    init: {
      readonly commit: GroupCommit;
      readonly clock: Clock;
      /** Knows which owners are at work: their leases do not expire. */
      readonly workers: WorkerRegistry;
    },
  ) {
    this.#commit = init.commit;
    this.#clock = init.clock;
    this.#workers = init.workers;
    this.#select = database.prepare(SELECT);
    this.#selectBuyer = database.prepare(SELECT_BUYER);
    this.#upsert = database.prepare(UPSERT);
  }

  async claimCall(call: PooledCall, buyer: CellStep): Promise<PoolClaim> {
    return await this.#commit.write((): PoolClaim => {
      const row = this.#select.get(call.run, call.fingerprint, call.sample);
      const other = row === undefined ? undefined : this.#readClaim(row, buyer);
      if (other !== undefined) return other;
      const { run, config, id, step } = buyer;
      const nowMs = this.#clock.now();
      this.#upsert.run(call.run, call.fingerprint, call.sample, run, config, id, step, nowMs);
      return { kind: 'granted' };
    });
  }

  /** Returns undefined for a claim that the buyer may take over, or has itself. */
  #readClaim(row: unknown, own: CellStep): PoolClaim | undefined {
    const { buyer_run: run, config, id, step, claimed_at: sinceMs } = claimRowSchema.parse(row);
    if (run === own.run && config === own.config && id === own.id && step === own.step)
      return undefined;
    const { entry, ...buyer } = buyerRowSchema.parse(
      this.#selectBuyer.get({ run, config, id, step }),
    );
    if (entry !== null) {
      const bought = journalEntrySchema.parse(JSON.parse(entry));
      return { kind: 'bought', buyer: { run, config, id, step }, entry: bought };
    }
    return this.#isBuying(buyer) ? { kind: 'held', sinceMs } : undefined;
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
    return submissionSchema.parse(JSON.parse(submission)).state === 'accepted';
  }
}

const SELECT = `SELECT buyer_run, config, id, step, claimed_at FROM pooled_calls
  WHERE run = ? AND fingerprint = ? AND sample = ?`;
const SELECT_BUYER = `SELECT
    (SELECT state FROM cells WHERE run = $run AND config = $config AND id = $id) AS state,
    (SELECT owner FROM cells WHERE run = $run AND config = $config AND id = $id) AS owner,
    (SELECT lease_until FROM cells WHERE run = $run AND config = $config AND id = $id) AS lease_until,
    (SELECT entry FROM calls WHERE run = $run AND config = $config AND id = $id
      AND step = $step AND discarded_id = '') AS entry,
    (SELECT submission FROM submissions WHERE run = $run AND config = $config AND id = $id
      AND step = $step) AS submission`;
const UPSERT = `INSERT INTO pooled_calls VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
  buyer_run = excluded.buyer_run, config = excluded.config, id = excluded.id, step = excluded.step,
  claimed_at = excluded.claimed_at`;
