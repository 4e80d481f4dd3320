import type { DatabaseSync } from 'node:sqlite';
import { type LaneState, type LaneStates, laneStateSchema, unknownLane } from '@thrice/core';
import type { GroupCommit } from './group-commit.ts';
import { parseJson } from './read-stored.ts';
import { prepareStatements, type Statements, type StoreInit } from './sqlite-store.ts';

/** The records of lanes, which all processes that share a database hold together. */
export class SqliteLaneStates implements LaneStates {
  readonly #commit: GroupCommit;
  readonly #sql: Statements<keyof typeof STATEMENTS>;

  constructor(database: DatabaseSync, { commit }: Pick<StoreInit, 'commit'>) {
    this.#commit = commit;
    this.#sql = prepareStatements(database, STATEMENTS);
  }

  async read(lane: string): Promise<LaneState | undefined> {
    return this.#read(lane);
  }

  async replace(lane: string, existing: LaneState | undefined, next: LaneState): Promise<boolean> {
    return await this.#commit.write(() => {
      if (this.#read(lane)?.revision !== existing?.revision) return false;
      this.#sql.replace.run(lane, JSON.stringify(next));
      return true;
    });
  }

  /** Forgets all lanes: what was learned by processes that are gone says little about the next run. */
  async forgetAll(): Promise<void> {
    await this.#commit.write(() => this.#sql.deleteAll.run());
  }

  #read(lane: string): LaneState | undefined {
    const row = this.#sql.select.get(lane);
    if (row === undefined) return undefined;
    return laneStateSchema.safeParse(parseJson(String(row['state']))).data ?? unknownLane(lane, 0);
  }
}

const STATEMENTS = {
  select: 'SELECT state FROM lanes WHERE lane = ?',
  replace: 'INSERT OR REPLACE INTO lanes VALUES (?, ?)',
  deleteAll: 'DELETE FROM lanes',
} as const;
