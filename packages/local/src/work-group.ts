import {
  type Benchmark,
  backoffMs,
  breakersFor,
  type ClientFor,
  type Delivery,
  executeCell,
  type GroupHeader,
  Heartbeat,
  limits,
  type OpenBreaker,
  type PatternMatcher,
  type Random,
  type ScorerRegistry,
  type SolverRegistry,
  ThriceError,
  type WorkerEvent,
  type WorkerObserver,
} from '@thrice/core';
import type { LocalEngine } from './local-engine.ts';
import { slotsPerLane, type WatchedGovernor } from './slot-governor.ts';
import type { Backlog, SqliteTaskQueue, TaskScope } from './sqlite-task-queue.ts';

/** Interval at which open breakers, the group's state and dead workers are read, ms. */
const REFRESH_MS = 1_000;
/** Longest sleep of an idle loop while cells are in flight, ms. */
const IDLE_MS = 100;
/** After this long, ms, a stall of the governor is a bug. */
const STALL_MS = 30_000;
/** Cells in flight beyond the slots, as a ratio: they are claimed or completed while others call. */
const AHEAD_RATIO = 2;

/** How the work on a group ended. */
export type Ending =
  /** All tasks are done. */
  | { readonly kind: 'complete' }
  /** The remaining tasks wait for a blocked lane or model. */
  | { readonly kind: 'paused'; readonly openBreakers: readonly OpenBreaker[] }
  /** A signal asked the process to stop. */
  | { readonly kind: 'interrupted' }
  /** Another command cancelled the group. */
  | { readonly kind: 'cancelled' };

/** What {@link workGroup} needs. */
export interface WorkOrder {
  readonly engine: LocalEngine;
  readonly header: GroupHeader;
  readonly benchmark: Benchmark;
  readonly clientFor: ClientFor;
  readonly random: Random;
  /** @default the built-in solvers */
  readonly solvers?: SolverRegistry | undefined;
  /** @default the built-in scorers */
  readonly scorers?: ScorerRegistry | undefined;
  readonly patterns: PatternMatcher;
  /** Grants slots for the calls; closed when the work stops early. */
  readonly governor: WatchedGovernor;
  readonly observe: WorkerObserver;
  /** The part of the group to work on. */
  readonly scope: TaskScope;
  /** Wait for exhausted lanes instead of ending as paused. */
  readonly waitForQuota: boolean;
  /** Aborts to start no more cells and finish those in flight. */
  readonly drainSignal: AbortSignal;
  /** Aborts to cancel the calls in flight as well. */
  readonly stopSignal: AbortSignal;
}

/**
 * Works on a group until nothing is left to do or it is told to stop.
 *
 * Several processes can work on a group at the same time: they share its queue.
 *
 * @throws {ThriceError} `store-unusable` when the store fails; class `internal` for a bug. Cells in flight
 *   are finished first, so that no paid call is lost.
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

/** A task in the queue whose cell waits for an open breaker. */
interface DeferredTask {
  readonly run: string;
  readonly config: string;
  readonly breakerKey: string;
}

class WorkLoop {
  readonly #order: WorkOrder;
  readonly #queue: SqliteTaskQueue;
  readonly #heartbeat: Heartbeat;
  readonly #laneLimits: ReadonlyMap<string, number>;
  readonly #inFlight = new Map<string, number>();
  readonly #cellsInFlight = new Set<string>();
  readonly #openBreakers = new Map<string, OpenBreaker>();
  /** Deferred tasks by name, until they are started again or their breaker closes. */
  readonly #deferredTasks = new Map<string, DeferredTask>();
  /** How often each breaker has opened again without an answer since it closed; drives the backoff. */
  readonly #reopenCounts = new Map<string, number>();
  #failure: { readonly error: unknown } | undefined;
  #isCancelled = false;
  /** Monotonic ms. */
  #refreshedAtMs = Number.NEGATIVE_INFINITY;
  /** When the governor was first seen stalled, monotonic ms; undefined if it is not. */
  #stalledSinceMs: number | undefined;
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
    this.#laneLimits = slotsPerLane(benchmark);
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
      if (this.#inFlightCount() === 0) {
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
    this.#order.governor.close();
    await this.#drain();
    if (this.#failure !== undefined) throw this.#failure.error;
    return { kind: this.#isCancelled ? 'cancelled' : 'interrupted' };
  }

  async #drain(): Promise<void> {
    while (this.#inFlightCount() > 0) await this.#idle(IDLE_MS);
  }

  /** Undefined while there is work, or something to wait for. */
  #endingOf(whole: readonly Backlog[]): Ending | undefined {
    const { runs, configs } = this.#order.scope;
    const backlog = whole.filter(
      ({ run, config }) => runs.includes(run) && configs.includes(config),
    );
    if (backlog.length === 0) return { kind: 'complete' };
    const openBreakers = new Map<string, OpenBreaker>();
    for (const each of backlog) {
      const breakers = this.#breakersOf(each);
      if (breakers.length === 0) return undefined;
      if (breakers.some((breaker) => this.#isWaitedFor(breaker))) return undefined;
      for (const breaker of breakers) openBreakers.set(breaker.breakerKey, breaker);
    }
    return { kind: 'paused', openBreakers: [...openBreakers.values()] };
  }

  /** The breakers that block a whole backlog: its config's, or those that each of its tasks waits for. */
  #breakersOf({ run, config, count }: Backlog): readonly OpenBreaker[] {
    const breaker = this.#breakerOf(config);
    if (breaker !== undefined) return [breaker];
    const deferred = [...this.#deferredTasks.values()].filter(
      (task) => task.run === run && task.config === config,
    );
    if (deferred.length !== count) return [];
    return deferred.flatMap(({ breakerKey }) => this.#openBreakers.get(breakerKey) ?? []);
  }

  /** The breaker that blocks a config, if one does. */
  #breakerOf(configName: string): OpenBreaker | undefined {
    const config = this.#order.benchmark.configs.find(({ name }) => name === configName);
    return config === undefined ? undefined : breakersFor(config, this.#openBreakers)[0];
  }

  #isWaitedFor(breaker: OpenBreaker): boolean {
    return this.#order.waitForQuota && breaker.error.class === 'exhausted';
  }

  /** Receives and starts as many cells as there is room for. Returns how many it started. */
  async #startCells(): Promise<number> {
    const counts = await Promise.all(
      [...this.#laneLimits].map(async ([lane, slots]) => {
        const room = Math.ceil(slots * (1 + AHEAD_RATIO)) - (this.#inFlight.get(lane) ?? 0);
        if (room <= 0) return 0;
        const configs = this.#unblockedConfigs(lane);
        if (configs.length === 0) return 0;
        const scope = { runs: this.#order.scope.runs, configs };
        const deliveries = await this.#queue.receive(lane, room, scope);
        for (const delivery of deliveries) this.#start(delivery);
        return deliveries.length;
      }),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** The configs of a lane that no breaker blocks. */
  #unblockedConfigs(lane: string): readonly string[] {
    return this.#order.benchmark.configs
      .filter((config) => config.lane === lane)
      .map(({ name }) => name)
      .filter((name) => this.#breakerOf(name) === undefined)
      .filter((name) => this.#order.scope.configs.includes(name));
  }

  #start(delivery: Delivery): void {
    const name = nameOf(delivery);
    if (this.#cellsInFlight.has(name)) {
      // The queue delivered a task that this process still holds: it was suspended for longer than a lease.
      void this.#queue
        .release(delivery, limits.heartbeatMs)
        .catch((error: unknown) => this.#fail(error));
      return;
    }
    this.#cellsInFlight.add(name);
    this.#deferredTasks.delete(name);
    this.#count(delivery.lane, 1);
    void this.#workOn(delivery)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#cellsInFlight.delete(name);
        this.#count(delivery.lane, -1);
        this.#wake?.();
      });
  }

  async #workOn(delivery: Delivery): Promise<void> {
    const { engine, benchmark, clientFor, governor, random, solvers, scorers, patterns } =
      this.#order;
    const settlement = await executeCell(delivery, {
      owner: engine.workers.owner,
      benchmark,
      ledger: engine.ledger,
      blobs: engine.blobs,
      clientFor,
      governor,
      heartbeat: this.#heartbeat,
      clock: engine.clock,
      random,
      observe: (event) => this.#observe(event),
      openBreakers: this.#openBreakers,
      solvers,
      scorers,
      patterns,
    });
    if (settlement.kind === 'acknowledge') await this.#queue.acknowledge(delivery);
    else {
      this.#defer(delivery, settlement.breakerKey);
      await this.#queue.release(delivery, settlement.delayMs);
    }
  }

  /** Notes a task that waits for a breaker, unless the breaker has closed meanwhile. */
  #defer(delivery: Delivery, breakerKey: string | undefined): void {
    if (breakerKey === undefined || !this.#openBreakers.has(breakerKey)) return;
    const { run, config } = delivery.task;
    this.#deferredTasks.set(nameOf(delivery), { run, config, breakerKey });
  }

  #forgetBreaker(breakerKey: string): void {
    this.#openBreakers.delete(breakerKey);
    for (const [name, task] of this.#deferredTasks) {
      if (task.breakerKey === breakerKey) this.#deferredTasks.delete(name);
    }
  }

  #observe(event: WorkerEvent): void {
    if (event.kind === 'breaker-opened')
      this.#openBreakers.set(event.breaker.breakerKey, event.breaker);
    if (event.kind === 'cell-completed' && this.#reopenCounts.size > 0)
      this.#forgetReopenCount(event.key.config);
    this.#order.observe(event);
  }

  #forgetReopenCount(configName: string): void {
    const config = this.#order.benchmark.configs.find(({ name }) => name === configName);
    if (config !== undefined) this.#reopenCounts.delete(config.lane);
  }

  async #refresh(): Promise<void> {
    const { engine, header, observe } = this.#order;
    const monotonicMs = engine.clock.monotonicMs();
    if (monotonicMs - this.#refreshedAtMs < REFRESH_MS) return;
    this.#refreshedAtMs = monotonicMs;
    const group = await engine.ledger.readGroup(header.group);
    this.#isCancelled = group?.state === 'cancelled';
    const takenOver = await engine.workers.takeOver();
    if (takenOver.length > 0) observe({ kind: 'cells-taken-over', cells: takenOver });
    await this.#refreshBreakers(engine.clock.now());
    this.#watchForStall(monotonicMs);
  }

  /** Reports a stall and ends it. A stall is a bug of the governor, but it must not stop a run. */
  #watchForStall(monotonicMs: number): void {
    const { governor, observe } = this.#order;
    if (!governor.isStalled) this.#stalledSinceMs = undefined;
    else this.#stalledSinceMs ??= monotonicMs;
    if (monotonicMs - (this.#stalledSinceMs ?? monotonicMs) < STALL_MS) return;
    this.#stalledSinceMs = undefined;
    observe({ kind: 'stalled', cellCount: this.#inFlightCount(), forMs: STALL_MS });
    governor.recover();
  }

  async #refreshBreakers(nowMs: number): Promise<void> {
    const { ledger } = this.#order.engine;
    const listed = await ledger.listOpenBreakers();
    const breakerKeys = new Set(listed.map(({ breakerKey }) => breakerKey));
    for (const { breakerKey, openedAt } of this.#openBreakers.values()) {
      // A breaker that has just opened may not be in the ledger yet.
      const isSettled = nowMs - Date.parse(openedAt) >= REFRESH_MS;
      if (isSettled && !breakerKeys.has(breakerKey)) this.#forgetBreaker(breakerKey);
    }
    for (const breaker of listed) {
      this.#openBreakers.set(breaker.breakerKey, breaker);
      if (this.#isWaitedFor(breaker) && nowMs >= this.#closesAtMs(breaker))
        await this.#closeBreaker(breaker);
    }
  }

  async #closeBreaker({ breakerKey }: OpenBreaker): Promise<void> {
    await this.#order.engine.ledger.closeBreaker(breakerKey);
    await this.#queue.makeVisible(breakerKey);
    this.#forgetBreaker(breakerKey);
    this.#reopenCounts.set(breakerKey, (this.#reopenCounts.get(breakerKey) ?? 0) + 1);
  }

  /** When the breaker closes, ms: at its reset if that is known and later than its opening, else after a backoff. */
  #closesAtMs({ breakerKey, openedAt, resetAt }: OpenBreaker): number {
    const openedAtMs = Date.parse(openedAt);
    const resetAtMs = resetAt === null ? Number.NaN : Date.parse(resetAt);
    const closesAtMs =
      resetAtMs > openedAtMs
        ? resetAtMs
        : openedAtMs +
          backoffMs((this.#reopenCounts.get(breakerKey) ?? 0) + 1, {
            baseMs: limits.quotaBackoffBaseMs,
            capMs: limits.quotaBackoffCapMs,
            random: () => 0.5,
          });
    this.#order.observe({ kind: 'breaker-waiting', breakerKey, untilMs: closesAtMs });
    return closesAtMs;
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#wake?.();
  }

  #count(lane: string, change: 1 | -1): void {
    this.#inFlight.set(lane, (this.#inFlight.get(lane) ?? 0) + change);
  }

  #inFlightCount(): number {
    return [...this.#inFlight.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Time until the next task of an unblocked config is visible, ms, at most until the next refresh. */
  #idleMs(backlog: readonly Backlog[]): number {
    const nowMs = this.#order.engine.clock.now();
    const visibleAtMs = backlog
      .filter(({ config }) => this.#breakerOf(config) === undefined)
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
