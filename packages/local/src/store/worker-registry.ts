import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { DatabaseSync } from 'node:sqlite';
import { type CellKey, type LaneWait, laneWaitSchema } from '@thrice/core';
import * as z from 'zod';
import type { GroupCommit } from './group-commit.ts';
import { hostIdentity, isRunning, processStart, processState } from './process-identity.ts';
import { readStored } from './read-stored.ts';

const workerRowSchema = z.object({
  owner: z.string(),
  host: z.string(),
  pid: z.number(),
  pid_started: z.string(),
  group_name: z.string(),
  waits: z.string(),
});
const waitsSchema = z.array(laneWaitSchema);
const cellKeySchema = z.object({ run: z.string(), config: z.string(), id: z.string() });

/** The states of a process that is dead (`Z`, `X`) or suspended (`T`, `t`), on Linux. */
const IDLE_STATES = ['Z', 'X', 'T', 't'];

type WorkerRow = z.infer<typeof workerRowSchema>;

/** A dead worker, and the cells that it was working on. */
export interface FreedWorker {
  readonly owner: string;
  readonly cells: readonly CellKey[];
}

/**
 * Registers the processes that work on a database, so that the leases of a dead one can be freed early.
 *
 * Only processes of the same host and process namespace can be detected as dead. The leases of all others
 * have to expire.
 */
export class WorkerRegistry {
  readonly #database: DatabaseSync;
  readonly #commit: GroupCommit;
  /** The name of this process's worker, used as the owner of its leases. */
  readonly owner: string;

  constructor(database: DatabaseSync, commit: GroupCommit) {
    this.#database = database;
    this.#commit = commit;
    this.owner = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  }

  /** Registers this process as a worker on a group. */
  async register(group: string): Promise<void> {
    const started = processStart(process.pid) ?? '';
    await this.#commit.write(() =>
      this.#database
        .prepare("INSERT INTO workers VALUES (?, ?, ?, ?, ?, '[]')")
        .run(this.owner, hostIdentity(), process.pid, started, group),
    );
  }

  /** Replaces what this process waits for, for those who ask how a group is doing. */
  async reportWaits(waits: readonly LaneWait[]): Promise<void> {
    await this.#commit.write(() =>
      this.#database
        .prepare('UPDATE workers SET waits = ? WHERE owner = ?')
        .run(JSON.stringify(waits), this.owner),
    );
  }

  /** What the other processes that work on a group wait for, without those detected as dead. */
  waitsOfOthers(group: string): readonly LaneWait[] {
    return this.#others()
      .filter((worker) => worker.group_name === group && !isDead(worker))
      .flatMap(({ waits }) => readStored(waitsSchema, waits, 'what a worker waits for'));
  }

  /**
   * Whether a worker is seen at work: its process is registered, of this host, and running. A suspended process is
   * not at work; whether a process that cannot be seen is at work stays unknown.
   */
  isAtWork(owner: string): boolean {
    const row = this.#database.prepare('SELECT * FROM workers WHERE owner = ?').get(owner);
    if (row === undefined) return false;
    const { host, pid, pid_started: started } = workerRowSchema.parse(row);
    // Without its start, a process cannot be told from another that reuses its pid.
    if (host !== hostIdentity() || processStart(pid) !== started) return false;
    return !IDLE_STATES.includes(processState(pid) ?? '');
  }

  /** Whether a worker has ended, or is seen to be dead. One that cannot be seen has not. */
  isGone(owner: string): boolean {
    const row = this.#database.prepare('SELECT * FROM workers WHERE owner = ?').get(owner);
    return row === undefined || isDead(workerRowSchema.parse(row));
  }

  /** Whether no other process is at work in this folder, as far as this one can see. */
  get areOthersDead(): boolean {
    return this.#others().every(isDead);
  }

  /** Removes this process from the registry and frees everything it still holds. */
  async unregister(): Promise<void> {
    await this.#commit.write(() => this.#free(this.owner));
  }

  /** Frees everything that dead workers of this host held. Returns the cells that each was working on. */
  async takeOver(): Promise<readonly FreedWorker[]> {
    const dead = this.#others().filter(isDead);
    if (dead.length === 0) return [];
    return await this.#commit.write(() =>
      dead.map(({ owner }) => ({ owner, cells: this.#free(owner) })),
    );
  }

  /**
   * Counts the other processes that work on a group, without those detected as dead. One that this process cannot
   * see, of another host or container, counts while it holds a task.
   */
  countOthers(group: string, nowMs: number): number {
    return this.#others().filter((worker) => {
      if (worker.group_name !== group) return false;
      return worker.host === hostIdentity() ? !isDead(worker) : this.#holdsTask(worker, nowMs);
    }).length;
  }

  /** Whether a process that worked on a group was killed, until another takes over what it held. */
  hasDeadWorker(group: string): boolean {
    return this.#others().some((worker) => worker.group_name === group && isDead(worker));
  }

  #holdsTask({ owner }: WorkerRow, nowMs: number): boolean {
    const held = this.#database
      .prepare('SELECT 1 FROM tasks WHERE holder = ? AND visible_at > ? LIMIT 1')
      .get(owner, nowMs);
    return held !== undefined;
  }

  #others(): readonly WorkerRow[] {
    return this.#database
      .prepare('SELECT * FROM workers WHERE owner <> ?')
      .all(this.owner)
      .map((row) => workerRowSchema.parse(row));
  }

  #free(owner: string): readonly CellKey[] {
    const freed = this.#database
      .prepare(
        `UPDATE cells SET state = 'released', owner = NULL, lease_until = 0
         WHERE state = 'claimed' AND owner = ?
           AND (run, config, id) IN (SELECT run, config, id FROM tasks WHERE holder = ?)
         RETURNING run, config, id`,
      )
      .all(owner, owner)
      .map((row) => cellKeySchema.parse(row));
    this.#database
      .prepare('UPDATE tasks SET visible_at = 0, hidden_at = 0, holder = NULL WHERE holder = ?')
      .run(owner);
    this.#database.prepare('DELETE FROM workers WHERE owner = ?').run(owner);
    return freed;
  }
}

function isDead(worker: WorkerRow): boolean {
  if (worker.host !== hostIdentity()) return false;
  if (!isRunning(worker.pid)) return true;
  const started = processStart(worker.pid);
  return started !== undefined && worker.pid_started !== '' && started !== worker.pid_started;
}
