import type { DatabaseSync } from 'node:sqlite';
import {
  type Clock,
  exchangeShare,
  type LaneLimit,
  type LaneLimits,
  type LaneReport,
  type LaneShare,
  laneLimitSchema,
  unknownLimit,
  withoutHolder,
} from '@thrice/core';
import type { GroupCommit } from './group-commit.ts';
import { prepareStatements, type Statements, type StoreInit } from './sqlite-store.ts';

/** The limits of lanes, which all processes that share a database hold together. */
export class SqliteLaneLimits implements LaneLimits {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #sql: Statements<keyof typeof STATEMENTS>;

  constructor(database: DatabaseSync, { commit, clock }: Pick<StoreInit, 'commit' | 'clock'>) {
    this.#commit = commit;
    this.#clock = clock;
    this.#sql = prepareStatements(database, STATEMENTS);
  }

  /** One transaction, so that no two processes lease the same. */
  async exchange(account: string, report: LaneReport): Promise<LaneShare> {
    return await this.#commit.write(() => {
      const nowMs = this.#clock.now();
      const existing = this.#read(account) ?? unknownLimit(nowMs);
      const { limit, share } = exchangeShare(existing, report, nowMs);
      this.#write(account, limit);
      return share;
    });
  }

  /** Forgets a process that has ended, in the limits of these accounts. */
  async leave(accounts: readonly string[], owner: string): Promise<void> {
    await this.#commit.write(() => {
      for (const account of accounts) {
        const existing = this.#read(account);
        if (existing === undefined) continue;
        const limit = withoutHolder(existing, owner);
        if (limit === undefined) this.#forget(account);
        else this.#write(account, limit);
      }
    });
  }

  async read(account: string): Promise<LaneLimit | undefined> {
    return this.#read(account);
  }

  #read(account: string): LaneLimit | undefined {
    const row = this.#sql.select.get(account);
    return row === undefined
      ? undefined
      : laneLimitSchema.parse(JSON.parse(String(row['lane_limit'])));
  }

  #forget(account: string): void {
    this.#sql.delete.run(account);
  }

  #write(account: string, limit: LaneLimit): void {
    this.#sql.replace.run(account, JSON.stringify(limit));
  }
}

const STATEMENTS = {
  select: 'SELECT lane_limit FROM lane_limits WHERE account = ?',
  replace: 'INSERT OR REPLACE INTO lane_limits VALUES (?, ?)',
  delete: 'DELETE FROM lane_limits WHERE account = ?',
} as const;
