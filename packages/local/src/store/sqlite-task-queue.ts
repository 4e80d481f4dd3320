import type { DatabaseSync } from 'node:sqlite';
import {
  type CellKey,
  type CellTask,
  type Clock,
  type Delivery,
  limits,
  type TaskQueue,
} from '@thrice/core';
import * as z from 'zod';
import type { GroupCommit } from './group-commit.ts';
import { prepareStatements, type Statements } from './sqlite-store.ts';
import type { WorkerRegistry } from './worker-registry.ts';

const taskRowSchema = z.object({
  task_no: z.number(),
  delivery: z.number(),
  run: z.string(),
  config: z.string(),
  id: z.string(),
  generation: z.number(),
  key: z.string(),
  question_offset: z.number(),
  question_length: z.number(),
});
const backlogRowSchema = z.object({
  lane: z.string(),
  run: z.string(),
  config: z.string(),
  count: z.number(),
  next_visible_at: z.number(),
});

/** Restricts a receive to some runs and configs of a group. */
export interface TaskScope {
  readonly runs: readonly string[];
  readonly configs: readonly string[];
}

/** The tasks of one config in one run that are still in the queue, including those a worker holds. */
export interface Backlog {
  readonly lane: string;
  readonly run: string;
  readonly config: string;
  readonly count: number;
  /** When the first of them becomes visible, ms since 1970. */
  readonly nextVisibleAtMs: number;
}

/**
 * The task queue of one group in a SQLite file that several processes share.
 *
 * A task's row: visible --receive--> held --release--> visible later; held --acknowledge--> deleted. A
 * held task becomes visible again when its lease expires and its holder is not seen at work. One that is woken while it is
 * held is visible as soon as it is released: its holder may have looked before there was anything to see. Waits survive a
 * clock that is set: set forward, it ends the delays of released tasks early; set back, it starts every wait
 * anew. Each cell has at most one task: sending another has no effect unless it is of a later generation, or reads its
 * question from another file, as after an edit: it replaces the existing task then.
 */
export class SqliteTaskQueue implements TaskQueue {
  readonly #commit: GroupCommit;
  readonly #clock: Clock;
  readonly #group: string;
  readonly #workers: WorkerRegistry;
  readonly #owner: string;
  readonly #sql: Statements<keyof typeof STATEMENTS>;
  /** When tasks were last received, ms since 1970. Before the first time, the clock may have been set back. */
  #receivedAtMs = Number.POSITIVE_INFINITY;

  constructor(
    database: DatabaseSync,
    init: {
      readonly commit: GroupCommit;
      readonly clock: Clock;
      readonly group: string;
      /** Knows which holders are at work. */
      readonly workers: WorkerRegistry;
      /** The worker that holds received tasks. */
      readonly owner: string;
    },
  ) {
    this.#commit = init.commit;
    this.#clock = init.clock;
    this.#group = init.group;
    this.#workers = init.workers;
    this.#owner = init.owner;
    this.#sql = prepareStatements(database, STATEMENTS);
  }

  async send(lane: string, tasks: readonly CellTask[]): Promise<void> {
    const sent = this.#commit.write(() => {
      const fileNos = new Map<string, number>();
      for (const { run, config, id, generation, question } of tasks) {
        const { key, offset, length } = question;
        const fileNo = this.#fileNo(key, fileNos);
        this.#sql.insert.run(
          this.#group,
          lane,
          run,
          config,
          id,
          generation,
          fileNo,
          offset,
          length,
        );
      }
    });
    // A page of a plan is large already: waiting for other writes would only slow down planning. The task of a grade
    // goes with what other cells write.
    if (tasks.length > 1) this.#commit.flush();
    await sent;
  }

  #fileNo(key: string, fileNos: Map<string, number>): number {
    const known = fileNos.get(key);
    if (known !== undefined) return known;
    this.#sql.insertFile.run(key);
    const fileNo = Number(this.#sql.selectFile.get(key)?.['file_no']);
    fileNos.set(key, fileNo);
    return fileNo;
  }

  /** @param scope - Which tasks to receive. @default all of the lane */
  async receive(lane: string, max: number, scope?: TaskScope): Promise<readonly Delivery[]> {
    const { nowMs, rows } = await this.#commit.write(() => {
      const nowMs = this.#clock.now();
      if (nowMs < this.#receivedAtMs) this.#restartWaits(nowMs);
      this.#keepHeldTasks(nowMs);
      const rows = this.#sql.receive.all(
        nowMs + limits.leaseMs,
        nowMs,
        this.#owner,
        this.#group,
        lane,
        nowMs,
        scope === undefined ? null : JSON.stringify(scope.runs),
        scope === undefined ? null : JSON.stringify(scope.configs),
        max,
      );
      return { nowMs, rows };
    });
    this.#receivedAtMs = nowMs;
    return rows.map((row) => toDelivery(lane, row));
  }

  /** Starts the waits anew that began after `nowMs`, because the clock was set back meanwhile. */
  #restartWaits(nowMs: number): void {
    this.#sql.restartWaits.run(nowMs, nowMs, this.#group, nowMs);
  }

  /** Extends the tasks whose lease has expired although their holder, perhaps this process, is at work. */
  #keepHeldTasks(nowMs: number): void {
    for (const row of this.#sql.lapsedHolders.all(nowMs)) {
      const holder = String(row['owner']);
      if (this.#workers.isAtWork(holder))
        this.#sql.keep.run(nowMs + limits.leaseMs, nowMs, holder, nowMs);
    }
  }

  async extend(deliveries: readonly Delivery[]): Promise<void> {
    await this.#commit.write(() => {
      const nowMs = this.#clock.now();
      const visibleAt = nowMs + limits.leaseMs;
      for (const { receipt } of deliveries)
        this.#sql.extend.run(visibleAt, nowMs, ...parseReceipt(receipt));
    });
  }

  async release({ receipt }: Delivery, delayMs: number): Promise<void> {
    await this.#commit.write(() => {
      const nowMs = this.#clock.now();
      const visibleAt = Math.ceil(nowMs + delayMs);
      this.#sql.release.run(nowMs, visibleAt, nowMs, ...parseReceipt(receipt));
    });
  }

  async acknowledge({ receipt }: Delivery): Promise<void> {
    await this.#commit.write(() => this.#sql.remove.run(...parseReceipt(receipt)));
  }

  /** Reads how many tasks the group has left, by lane, run and config. */
  async readBacklog(): Promise<readonly Backlog[]> {
    return this.#sql.backlog.all(this.#group).map((row) => {
      const { next_visible_at: nextVisibleAtMs, ...rest } = backlogRowSchema.parse(row);
      return { ...rest, nextVisibleAtMs };
    });
  }

  /**
   * Removes the tasks of cells that are done already because another engine worked on them.
   *
   * @returns The number of removed tasks.
   */
  async dropDone(): Promise<number> {
    const { changes } = await this.#commit.write(() => this.#sql.dropDone.run(this.#group));
    return Number(changes);
  }

  /** Cancels the delays of the tasks of cells, and the next delay of those that are held. */
  async wake(cells: readonly CellKey[]): Promise<void> {
    if (cells.length === 0) return;
    await this.#commit.write(() => {
      const nowMs = this.#clock.now();
      for (const { run, config, id } of cells) {
        this.#sql.wake.run(nowMs, nowMs, run, config, id, nowMs);
        this.#sql.wakeHeld.run(run, config, id);
      }
    });
  }

  /**
   * Cancels the delays of a lane's tasks: every task that is not held becomes visible immediately, after those that
   * are visible already.
   */
  async makeVisible(lane: string): Promise<void> {
    await this.#commit.write(() => {
      const nowMs = this.#clock.now();
      // Hidden since now for no time: a wait that a clock set back restarts.
      this.#sql.makeVisible.run(nowMs, nowMs, this.#group, lane, nowMs);
    });
  }
}

const STATEMENTS = {
  insertFile: 'INSERT INTO question_files (key) VALUES (?) ON CONFLICT DO NOTHING',
  selectFile: 'SELECT file_no FROM question_files WHERE key = ?',
  insert: `INSERT INTO tasks (group_name, lane, run, config, id, generation, file_no,
    question_offset, question_length, visible_at, hidden_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)
    ON CONFLICT DO UPDATE SET generation = excluded.generation, file_no = excluded.file_no,
      question_offset = excluded.question_offset, question_length = excluded.question_length,
      delivery = delivery + 1, visible_at = 0, hidden_at = 0, holder = NULL
      WHERE excluded.generation > generation
        OR (excluded.generation = generation AND excluded.file_no <> file_no)`,
  restartWaits: `UPDATE tasks SET visible_at = visible_at - hidden_at + ?, hidden_at = ?
    WHERE group_name = ? AND hidden_at > ?`,
  lapsedHolders: `SELECT owner FROM workers
    WHERE EXISTS (SELECT 1 FROM tasks WHERE holder = workers.owner AND visible_at <= ?)`,
  keep: 'UPDATE tasks SET visible_at = ?, hidden_at = ? WHERE holder = ? AND visible_at <= ?',
  receive: `UPDATE tasks SET visible_at = ?, hidden_at = ?, delivery = delivery + 1, holder = ?,
      is_woken = 0
    WHERE task_no IN (SELECT task_no FROM tasks
      WHERE group_name = ? AND lane = ? AND visible_at <= ?
        AND run IN (SELECT value FROM json_each(coalesce(?, json_array(run))))
        AND config IN (SELECT value FROM json_each(coalesce(?, json_array(config))))
      ORDER BY visible_at, task_no LIMIT ?)
    RETURNING task_no, delivery, run, config, id, generation, question_offset, question_length,
      (SELECT key FROM question_files WHERE question_files.file_no = tasks.file_no) AS key`,
  extend: 'UPDATE tasks SET visible_at = ?, hidden_at = ? WHERE task_no = ? AND delivery = ?',
  release: `UPDATE tasks SET visible_at = iif(is_woken, ?, ?), hidden_at = ?, holder = NULL
    WHERE task_no = ? AND delivery = ?`,
  remove: 'DELETE FROM tasks WHERE task_no = ? AND delivery = ?',
  backlog: `SELECT lane, run, config, count(*) AS count, min(visible_at) AS next_visible_at
    FROM tasks WHERE group_name = ? GROUP BY lane, run, config`,
  dropDone: `DELETE FROM tasks WHERE group_name = ? AND EXISTS (SELECT 1 FROM cells
    WHERE cells.run = tasks.run AND cells.config = tasks.config AND cells.id = tasks.id
      AND cells.state = 'done'
      AND (cells.outcome IN ('scored', 'unparsed') OR cells.generation >= tasks.generation))`,
  wake: `UPDATE tasks SET visible_at = ?, hidden_at = ?
    WHERE run = ? AND config = ? AND id = ? AND holder IS NULL AND visible_at > ?`,
  wakeHeld: `UPDATE tasks SET is_woken = 1
    WHERE run = ? AND config = ? AND id = ? AND holder IS NOT NULL`,
  makeVisible: `UPDATE tasks SET visible_at = ?, hidden_at = ?
    WHERE group_name = ? AND lane = ? AND holder IS NULL AND visible_at > ?`,
} as const;

function toDelivery(lane: string, row: unknown): Delivery {
  const task = taskRowSchema.parse(row);
  return {
    lane,
    receipt: `${task.task_no}:${task.delivery}`,
    task: {
      v: 1,
      run: task.run,
      id: task.id,
      config: task.config,
      generation: task.generation,
      question: { key: task.key, offset: task.question_offset, length: task.question_length },
    },
  };
}

function parseReceipt(receipt: string): [number, number] {
  const [taskNo = '', delivery = ''] = receipt.split(':');
  return [Number(taskNo), Number(delivery)];
}
