import {
  type Benchmark,
  backoffMs,
  type Closure,
  type Delivery,
  executeCell,
  type GroupHeader,
  Heartbeat,
  limits,
  type ModelClient,
  type Random,
  ThriceError,
  type WorkerEvent,
  type WorkerObserver,
} from '@thrice/core';
import type { LocalEngine } from './local-engine.ts';
import { SlotGovernor } from './slot-governor.ts';
import type { Backlog, SqliteTaskQueue, TaskScope } from './sqlite-task-queue.ts';

/** How often closures, the group's state and dead workers are looked at, ms. */
const REFRESH_MS = 1_000;
/** How long an idle loop sleeps before it looks again, ms. */
const IDLE_MS = 100;
/** With work, open lanes and no request for this long, ms, a wake-up has been lost. */
const STALL_MS = 30_000;
/** Cells in hand beyond the slots, as a share: they are claimed or completed while others call. */
const AHEAD_RATIO = 2;

/** How the work on a group ended. */
export type Ending =
  /** Every task is done. */
  | { readonly kind: 'complete' }
  /** All that is left waits for a closed lane or model. */
  | { readonly kind: 'paused'; readonly closures: readonly Closure[] }
  /** We were told to stop. */
  | { readonly kind: 'interrupted' }
  /** The group was cancelled by another command. */
  | { readonly kind: 'cancelled' };

/** What {@link workGroup} needs. */
export interface WorkOrder {
  readonly engine: LocalEngine;
  readonly header: GroupHeader;
  readonly benchmark: Benchmark;
  readonly models: ModelClient;
  readonly random: Random;
  /** Slots for the calls. @default as many as the benchmark allows, in all and on each lane */
  readonly governor?: SlotGovernor;
  readonly observe: WorkerObserver;
  /** What of the group to work on. */
  readonly scope: TaskScope;
  /** Wait for exhausted lanes instead of ending paused. */
  readonly waitForQuota: boolean;
  /** Aborts to take no more cells and finish those in flight. */
  readonly drainSignal: AbortSignal;
  /** Aborts to end the calls in flight as well. */
  readonly stopSignal: AbortSignal;
}

/**
 * Works on a group until nothing is left to do, or somebody says stop.
 *
 * Several processes may do so at once; each helps with what the others have not in hand.
 *
 * @throws {ThriceError} `store-unusable` when the store fails; class `defect` for our own bugs. Cells
 *   in flight are finished first; nothing paid is lost.
 */
export async function workGroup(order: WorkOrder): Promise<Ending> {
  const loop = new WorkLoop(order);
  await order.engine.workers.register(order.header.group);
  try {
    return await loop.run();
  } finally {
    await order.engine.workers.unregister();
  }
}

class WorkLoop {
  readonly #order: WorkOrder;
  readonly #queue: SqliteTaskQueue;
  readonly #heartbeat: Heartbeat;
  readonly #governor: SlotGovernor;
  readonly #laneLimits: ReadonlyMap<string, number>;
  readonly #inHand = new Map<string, number>();
  readonly #cellsInHand = new Set<string>();
  readonly #closures = new Map<string, Closure>();
  /** Closures in a row without an answer in between; drives the backoff. */
  readonly #streaks = new Map<string, number>();
  #failure: { readonly error: unknown } | undefined;
  #isCancelled = false;
  #refreshedAtMs = Number.NEGATIVE_INFINITY;
  /** Since when nothing moves though something could, and how many slots had been granted then. */
  #still: { readonly sinceMs: number; readonly grantedCount: number } | undefined;
  #wake: (() => void) | undefined;

  constructor(order: WorkOrder) {
    const { engine, benchmark, header } = order;
    this.#order = order;
    this.#queue = engine.queueOf(header.group);
    this.#heartbeat = new Heartbeat({
      ledger: engine.ledger,
      queue: this.#queue,
      clock: engine.clock,
      owner: engine.workers.owner,
    });
    this.#laneLimits = new Map(
      [...benchmark.lanes].map(([name, lane]) => [
        name,
        Math.min(lane.maxConcurrency ?? benchmark.parallel, benchmark.parallel),
      ]),
    );
    this.#governor =
      order.governor ??
      new SlotGovernor({
        clock: engine.clock,
        total: benchmark.parallel,
        perLane: this.#laneLimits,
        random: order.random,
      });
  }

  async run(): Promise<Ending> {
    const { drainSignal, stopSignal } = this.#order;
    const beating = new AbortController();
    const heartbeat = this.#heartbeat
      .run(beating.signal)
      .catch((error: unknown) => this.#fail(error));
    const wake = () => this.#wake?.();
    const stop = () => {
      this.#heartbeat.stopAll(new ThriceError({ code: 'interrupted', message: 'stopped' }));
      wake();
    };
    drainSignal.addEventListener('abort', wake);
    stopSignal.addEventListener('abort', stop);
    try {
      return await this.#work();
    } finally {
      await this.#drain();
      beating.abort();
      await heartbeat;
      drainSignal.removeEventListener('abort', wake);
      stopSignal.removeEventListener('abort', stop);
    }
  }

  async #work(): Promise<Ending> {
    for (;;) {
      await this.#refresh();
      const stop = await this.#stopReason();
      if (stop !== undefined) return stop;
      const startedCount = await this.#startCells();
      if (startedCount > 0) continue;
      if (this.#inHandCount() === 0) {
        const backlog = await this.#queue.readBacklog();
        const ending = this.#endingOf(backlog);
        if (ending !== undefined) return ending;
        await this.#idle(this.#idleMs(backlog));
      } else await this.#idle(IDLE_MS);
    }
  }

  async #stopReason(): Promise<Ending | undefined> {
    const isStopped = this.#order.drainSignal.aborted || this.#order.stopSignal.aborted;
    if (this.#failure === undefined && !this.#isCancelled && !isStopped) return undefined;
    this.#governor.close();
    await this.#drain();
    if (this.#failure !== undefined) throw this.#failure.error;
    return { kind: this.#isCancelled ? 'cancelled' : 'interrupted' };
  }

  async #drain(): Promise<void> {
    while (this.#inHandCount() > 0) await this.#idle(IDLE_MS);
  }

  /** Undefined while there is something to do or to wait for. */
  #endingOf(whole: readonly Backlog[]): Ending | undefined {
    const { runs, configs } = this.#order.scope;
    const backlog = whole.filter(
      ({ run, config }) => runs.includes(run) && configs.includes(config),
    );
    if (backlog.length === 0) return { kind: 'complete' };
    const closures = new Map<string, Closure>();
    for (const { lane, config } of backlog) {
      const closure = this.#closureOfConfig(lane, config);
      if (closure === undefined || this.#isWaitedFor(closure)) return undefined;
      closures.set(closure.subject, closure);
    }
    return { kind: 'paused', closures: [...closures.values()] };
  }

  #closureOfConfig(lane: string, config: string): Closure | undefined {
    const model = this.#order.benchmark.configs.find(({ name }) => name === config)?.model;
    return this.#closures.get(lane) ?? this.#closures.get(`${lane}/${model ?? ''}`);
  }

  #isWaitedFor(closure: Closure): boolean {
    return this.#order.waitForQuota && closure.error.class === 'exhausted';
  }

  /** Receives and starts as many cells as there is room for; returns how many. */
  async #startCells(): Promise<number> {
    const counts = await Promise.all(
      [...this.#laneLimits].map(async ([lane, slots]) => {
        const room = Math.ceil(slots * (1 + AHEAD_RATIO)) - (this.#inHand.get(lane) ?? 0);
        if (room <= 0 || this.#closures.has(lane)) return 0;
        const configs = this.#openConfigs(lane);
        if (configs.length === 0) return 0;
        const scope = { runs: this.#order.scope.runs, configs };
        const deliveries = await this.#queue.receive(lane, room, scope);
        for (const delivery of deliveries) this.#start(delivery);
        return deliveries.length;
      }),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Configs of a lane that may be worked on: a closed model's tasks stay where they are. */
  #openConfigs(lane: string): readonly string[] {
    return this.#order.benchmark.configs
      .filter((config) => config.lane === lane && !this.#closures.has(`${lane}/${config.model}`))
      .map(({ name }) => name)
      .filter((name) => this.#order.scope.configs.includes(name));
  }

  #start(delivery: Delivery): void {
    const name = nameOf(delivery);
    if (this.#cellsInHand.has(name)) {
      // Our own task came again while we still hold it: the process was asleep for longer than a lease.
      void this.#queue
        .release(delivery, limits.heartbeatMs)
        .catch((error: unknown) => this.#fail(error));
      return;
    }
    this.#cellsInHand.add(name);
    this.#count(delivery.lane, 1);
    void this.#workOn(delivery)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#cellsInHand.delete(name);
        this.#count(delivery.lane, -1);
        this.#wake?.();
      });
  }

  async #workOn(delivery: Delivery): Promise<void> {
    const { engine, benchmark, models, random } = this.#order;
    const settlement = await executeCell(delivery, {
      owner: engine.workers.owner,
      benchmark,
      ledger: engine.ledger,
      blobs: engine.blobs,
      models,
      governor: this.#governor,
      heartbeat: this.#heartbeat,
      clock: engine.clock,
      random,
      observe: (event) => this.#observe(event),
      closureOf: (subject) => this.#closures.get(subject),
    });
    if (settlement.kind === 'acknowledge') await this.#queue.acknowledge(delivery);
    else await this.#queue.release(delivery, settlement.delayMs);
  }

  #observe(event: WorkerEvent): void {
    if (event.kind === 'lane-closed') this.#closures.set(event.closure.subject, event.closure);
    if (event.kind === 'cell-completed' && this.#streaks.size > 0)
      this.#forgetStreak(event.key.config);
    this.#order.observe(event);
  }

  #forgetStreak(configName: string): void {
    const config = this.#order.benchmark.configs.find(({ name }) => name === configName);
    if (config !== undefined) this.#streaks.delete(config.lane);
  }

  async #refresh(): Promise<void> {
    const { engine, header, observe } = this.#order;
    const nowMs = engine.clock.now();
    // Also when the clock was set back: waiting for it to catch up would make us deaf.
    if (Math.abs(nowMs - this.#refreshedAtMs) < REFRESH_MS) return;
    this.#refreshedAtMs = nowMs;
    const group = await engine.ledger.readGroup(header.group);
    this.#isCancelled = group?.state === 'cancelled';
    const takenOver = await engine.workers.takeOver();
    if (takenOver.length > 0) observe({ kind: 'cells-taken-over', cells: takenOver });
    await this.#refreshClosures(nowMs);
    this.#watchForStall(nowMs);
  }

  /**
   * Says so and recovers when cells wait for slots that nothing withholds: that is a bug, but no reason to
   * wait for ever.
   */
  #watchForStall(nowMs: number): void {
    const { grantedCount, inUseCount } = this.#governor;
    const isWaiting = [...this.#inHand].some(
      ([lane, count]) => count > 0 && !this.#closures.has(lane) && !this.#governor.isHeld(lane),
    );
    if (!isWaiting || inUseCount > 0) this.#still = undefined;
    else if (this.#still?.grantedCount !== grantedCount) {
      this.#still = { sinceMs: nowMs, grantedCount };
    } else if (nowMs - this.#still.sinceMs >= STALL_MS) {
      this.#still = undefined;
      this.#order.observe({ kind: 'stalled', cellCount: this.#inHandCount(), forMs: STALL_MS });
      this.#governor.recover();
    }
  }

  async #refreshClosures(nowMs: number): Promise<void> {
    const { ledger } = this.#order.engine;
    const listed = await ledger.listClosures();
    const subjects = new Set(listed.map(({ subject }) => subject));
    for (const { subject, closedAt } of this.#closures.values()) {
      // One of this last moment may still be on its way to the ledger.
      const isSettled = nowMs - Date.parse(closedAt) >= REFRESH_MS;
      if (isSettled && !subjects.has(subject)) this.#closures.delete(subject);
    }
    for (const closure of listed) {
      this.#closures.set(closure.subject, closure);
      if (this.#isWaitedFor(closure) && nowMs >= this.#opensAtMs(closure))
        await this.#open(closure);
    }
  }

  async #open({ subject }: Closure): Promise<void> {
    await this.#order.engine.ledger.open(subject);
    await this.#queue.wake(subject);
    this.#closures.delete(subject);
    this.#streaks.set(subject, (this.#streaks.get(subject) ?? 0) + 1);
  }

  /** At its reset where that is known and was still to come, else after a backoff. */
  #opensAtMs({ subject, closedAt, resetAt }: Closure): number {
    const closedAtMs = Date.parse(closedAt);
    const resetAtMs = resetAt === null ? Number.NaN : Date.parse(resetAt);
    const opensAtMs =
      resetAtMs > closedAtMs
        ? resetAtMs
        : closedAtMs +
          backoffMs((this.#streaks.get(subject) ?? 0) + 1, {
            baseMs: limits.quotaBackoffBaseMs,
            capMs: limits.quotaBackoffCapMs,
            random: () => 0.5,
          });
    this.#order.observe({ kind: 'lane-waiting', subject, untilMs: opensAtMs });
    return opensAtMs;
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake?.();
  }

  #count(lane: string, change: 1 | -1): void {
    this.#inHand.set(lane, (this.#inHand.get(lane) ?? 0) + change);
  }

  #inHandCount(): number {
    return [...this.#inHand.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Until the next task that may be worked on is visible, but no longer than to the next refresh. */
  #idleMs(backlog: readonly Backlog[]): number {
    const nowMs = this.#order.engine.clock.now();
    const visibleAtMs = backlog
      .filter(({ lane, config }) => this.#closureOfConfig(lane, config) === undefined)
      .map(({ nextVisibleAtMs }) => nextVisibleAtMs);
    return Math.min(REFRESH_MS, Math.max(IDLE_MS, Math.min(...visibleAtMs) - nowMs));
  }

  async #idle(idleMs: number): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await this.#order.engine.clock.sleep(idleMs, woken.signal);
    this.#wake = undefined;
  }
}

function nameOf({ task }: Delivery): string {
  return [task.run, task.config, task.id].join('\n');
}
