import {
  type BudgetRefusal,
  benchmarkOf,
  type Delivery,
  editedMeanwhile,
  executeCell,
  type GroupRecord,
  giveUpEndlessPatterns,
  Heartbeat,
  LaneHealth,
  type OpenBreaker,
  openBudget,
  type PatternMatcher,
  type Settlement,
  ThriceError,
  type WorkerEvent,
} from '@thrice/core';
import { createNodeDigest } from '../sources/file-source-reader.ts';
import type { Backlog, SqliteTaskQueue } from '../store/sqlite-task-queue.ts';
import { BackgroundPlanning } from './background-planning.ts';
import { CellsInFlight } from './cells-in-flight.ts';
import { GroupBatches } from './group-batches.ts';
import { GroupBreakers } from './group-breakers.ts';
import { GroupBudget } from './group-budget.ts';
import { HeldWrites } from './held-writes.ts';
import { accountOf } from './lane-share.ts';
import { SentCalls } from './sent-calls.ts';
import { slotsPerLane } from './slot-governor.ts';
import { StallWatchdog } from './stall-watchdog.ts';
import { takeOverCells } from './take-over-cells.ts';
import { WaitReport } from './wait-report.ts';
import { WakeableSleep } from './wakeable-sleep.ts';
import type { Ending, WorkOrder } from './work-order.ts';

/** Interval at which open breakers, the group's state and dead workers are read, ms. */
const REFRESH_MS = 1_000;
/** Longest sleep of an idle loop while cells are in flight, ms. */
const IDLE_MS = 100;
/** Cells in flight beyond the slots, as a ratio: they are claimed or completed while others call. */
const AHEAD_RATIO = 2;

/**
 * Works on a group until nothing is left to do or it is told to stop.
 *
 * Several processes can work on a group at the same time: they share its queue. While the store is full or gone,
 * no call is made, and what is paid is held until the store takes it or the work is told to stop.
 *
 * @throws {ThriceError} `store-unusable` when the store fails; `spec-changed` when the plan was edited since it was read;
 *   class `internal` for a bug. Cells in flight are finished first, so that no paid call is lost.
 */
export async function workGroup(order: WorkOrder): Promise<Ending> {
  using sentCalls = new SentCalls(order.engine.folder, order.engine.workers.owner);
  const loop = new WorkLoop(order, sentCalls);
  await order.engine.workers.register(order.header.group);
  try {
    await loop.openBudget();
    const ending = await loop.run();
    await order.onEnd?.(ending);
    return ending;
  } finally {
    await loop.unregister();
  }
}

/**
 * The loop that receives tasks and executes their cells, as many at a time as the lanes allow.
 *
 * working --nothing is left to do--> complete
 * working --what is left waits for an open breaker--> paused
 * working --drain, stop, cancel or a failure--> draining --no cell is in flight--> interrupted, cancelled or failed
 *
 * Whatever happens beside it (a cell ends, tasks are sent, a signal aborts) only notes that and wakes the loop.
 */
class WorkLoop {
  readonly #order: WorkOrder;
  readonly #sentCalls: SentCalls;
  readonly #queue: SqliteTaskQueue;
  readonly #heartbeat: Heartbeat;
  readonly #laneLimits: ReadonlyMap<string, number>;
  readonly #inFlight: CellsInFlight;
  readonly #breakers: GroupBreakers;
  readonly #batches: GroupBatches;
  readonly #laneHealth: LaneHealth;
  readonly #patterns: PatternMatcher;
  readonly #planning: BackgroundPlanning;
  readonly #heldWrites: HeldWrites;
  readonly #watchdog: StallWatchdog;
  readonly #waitReport: WaitReport;
  readonly #idle: WakeableSleep;
  #budget: GroupBudget | undefined;
  #failure: { readonly error: unknown } | undefined;
  #isCancelled = false;
  /** Everything that is left waits for open breakers. */
  #areAllWaiting = false;
  #stoppedCount = 0;
  #lostCount = 0;
  /** When the loop last refreshed what it knows, monotonic ms. */
  #refreshedAtMs = Number.NEGATIVE_INFINITY;

  constructor(order: WorkOrder, sentCalls: SentCalls) {
    const { engine, benchmark, header } = order;
    this.#order = order;
    this.#sentCalls = sentCalls;
    this.#heldWrites = new HeldWrites(order);
    this.#watchdog = new StallWatchdog(order);
    this.#waitReport = new WaitReport(order);
    this.#idle = new WakeableSleep(engine.clock);
    this.#patterns = giveUpEndlessPatterns(order.patterns);
    this.#queue = engine.queueOf(header.group);
    this.#planning = new BackgroundPlanning({
      order,
      queue: this.#queue,
      onProgress: () => this.#idle.wake(),
    });
    this.#heartbeat = new Heartbeat({
      ledger: engine.ledger,
      queue: this.#queue,
      clock: engine.clock,
      owner: engine.workers.owner,
    });
    this.#inFlight = new CellsInFlight({
      execute: (delivery) => this.#execute(delivery),
      settle: (delivery, settlement) => this.#settle(delivery, settlement),
      onFailure: (error) => this.#fail(error),
      onEnd: (delivery) => {
        sentCalls.forget(delivery.task);
        this.#breakers.endProbe(delivery);
        this.#idle.wake();
      },
    });
    this.#laneLimits = slotsPerLane(benchmark);
    this.#laneHealth = new LaneHealth({ clock: engine.clock, random: order.random });
    this.#breakers = new GroupBreakers({
      benchmark,
      ledger: engine.ledger,
      clock: engine.clock,
      random: order.random,
      queue: this.#queue,
      observe: order.observe,
      waitForQuota: order.waitForQuota,
      hasResponded: (lane) => this.#laneHealth.hasResponded(lane),
      scope: order.scope,
      halfOpen: order.halfOpen ?? new Set(),
    });
    this.#batches = new GroupBatches({
      order,
      queue: this.#queue,
      budget: () => this.#budget?.calls,
      laneHealth: this.#laneHealth,
      observe: (event) => this.#observe(event),
      isBlocked: (batch) => this.#breakers.isModelBlocked(batch),
      onProgress: () => this.#idle.wake(),
    });
  }

  /**
   * Opens the budget of the group, if its plan has one. Nothing is called before.
   *
   * @throws {ThriceError} `spec-changed` for a plan that was edited since it was read; the caps are then those of the edit.
   */
  async openBudget(): Promise<void> {
    const { engine, header } = this.#order;
    this.#budget = await GroupBudget.open(this.#order, (event) => this.#observe(event));
    // After the caps were set: an edit that is not stored yet sets its own later.
    const stored = await engine.ledger.readGroup(header.group);
    if (stored === undefined || !this.#isEdited(stored)) return;
    await openBudget(stored.header, benchmarkOf(stored.header), engine.budgets);
    throw editedMeanwhile(header);
  }

  #isEdited({ header }: GroupRecord): boolean {
    return header.edits.length !== this.#order.header.edits.length;
  }

  async run(): Promise<Ending> {
    const { drainSignal, stopSignal, governor } = this.#order;
    this.#heldWrites.start();
    const beating = new AbortController();
    const heartbeat = this.#heartbeat
      .run(beating.signal)
      .catch((error: unknown) => this.#fail(error));
    const planning = this.#planning.run().catch((error: unknown) => this.#fail(error));
    const batches = this.#batches.run().catch((error: unknown) => this.#fail(error));
    const drain = () => {
      // At once: the loop may wait for a store that takes no writes.
      governor.close();
      this.#budget?.calls.close();
      this.#batches.end();
      this.#idle.wake();
    };
    const stop = () => {
      this.#heartbeat.stopAll(new ThriceError({ code: 'interrupted', message: 'stopped' }));
      this.#heldWrites.stop();
      this.#batches.stop();
      this.#idle.wake();
    };
    drainSignal.addEventListener('abort', drain);
    stopSignal.addEventListener('abort', stop);
    try {
      return await this.#work();
    } catch (error) {
      if (!this.#heldWrites.hasGivenUp) throw error;
      await this.#drain();
      return this.#interrupted();
    } finally {
      this.#planning.stop();
      this.#batches.end();
      await this.#drain();
      await batches;
      beating.abort();
      await heartbeat;
      this.#heldWrites[Symbol.dispose]();
      await planning;
      drainSignal.removeEventListener('abort', drain);
      stopSignal.removeEventListener('abort', stop);
    }
  }

  /** Removes this process from the registry. That it is still there harms nothing once it has ended. */
  async unregister(): Promise<void> {
    try {
      const { engine, benchmark } = this.#order;
      const accounts = [...benchmark.lanes.values()].map(accountOf);
      await engine.laneLimits.leave(accounts, engine.workers.owner);
      await engine.workers.unregister();
    } catch (error) {
      if (!this.#heldWrites.hasGivenUp) throw error;
    }
  }

  #interrupted(): Ending {
    return {
      kind: 'interrupted',
      stoppedCount: this.#stoppedCount,
      lostCount: this.#lostCount,
      isStoreDeleted: this.#heldWrites.isStoreDeleted,
    };
  }

  async #work(): Promise<Ending> {
    for (;;) {
      await this.#breakers.closeAnswered();
      await this.#refresh();
      const stop = await this.#stopReason();
      if (stop !== undefined) return stop;
      if ((await this.#startCells()) > 0) {
        this.#areAllWaiting = false;
        continue;
      }
      const ending = await this.#waitForMore();
      if (ending !== undefined) return ending;
    }
  }

  /** Sleeps until more may be done. Returns the ending instead if no cell is in flight and nothing is left to do. */
  async #waitForMore(): Promise<Ending | undefined> {
    if (this.#inFlight.count > 0) {
      await this.#idle.sleep(IDLE_MS);
      return undefined;
    }
    // Read first: a task that is sent meanwhile may be missing in the backlog.
    const { isPlanned } = this.#planning;
    const backlog = await this.#queue.readBacklog();
    if (isPlanned) this.#batches.closeGathering();
    const ending = isPlanned ? await this.#endingOf(backlog) : undefined;
    this.#areAllWaiting =
      isPlanned && this.#ownOf(backlog).every((each) => this.#breakers.blockersOf(each).length > 0);
    if (ending === undefined) await this.#idle.sleep(this.#idleMs(backlog));
    return ending;
  }

  /** Ends the work if it has to stop. Undefined while it may continue. */
  async #stopReason(): Promise<Ending | undefined> {
    const isStopped = this.#order.drainSignal.aborted || this.#order.stopSignal.aborted;
    if (this.#failure === undefined && !this.#isCancelled && !isStopped) return undefined;
    this.#planning.stop();
    this.#order.governor.close();
    this.#budget?.calls.close();
    await this.#drain();
    if (this.#failure !== undefined) throw this.#failure.error;
    if (this.#isCancelled) {
      await this.#batches.cancelAll();
      return { kind: 'cancelled' };
    }
    return this.#interrupted();
  }

  /** Waits until no cell is in flight. */
  async #drain(): Promise<void> {
    while (this.#inFlight.count > 0) await this.#idle.sleep(IDLE_MS);
  }

  /** The part of a backlog that is worked on. */
  #ownOf(backlog: readonly Backlog[]): readonly Backlog[] {
    const { runs, configs } = this.#order.scope;
    return backlog.filter(({ run, config }) => runs.includes(run) && configs.includes(config));
  }

  /** Undefined while there is work, or something to wait for. */
  async #endingOf(whole: readonly Backlog[]): Promise<Ending | undefined> {
    const backlog = this.#ownOf(whole);
    if (backlog.length === 0) return { kind: 'complete' };
    const openBreakers = new Map<string, OpenBreaker>();
    let budget: BudgetRefusal | undefined;
    for (const each of backlog) {
      const refusal = this.#budget?.refusalOf(each.config);
      budget ??= refusal;
      if (refusal !== undefined) continue;
      const breakers = this.#breakers.blockersOf(each);
      if (breakers.length === 0) return undefined;
      if (breakers.some((breaker) => this.#breakers.isWaitedFor(breaker))) return undefined;
      for (const breaker of breakers) openBreakers.set(breaker.breakerKey, breaker);
    }
    if (await this.#batches.hasOpen()) return undefined;
    return { kind: 'paused', openBreakers: [...openBreakers.values()], budget };
  }

  /** Receives and starts as many cells as there is room for. Returns how many it started. */
  async #startCells(): Promise<number> {
    const counts = await Promise.all(
      [...this.#laneLimits].map(async ([lane, slots]) => {
        const probeCount = await this.#startProbes(lane);
        const room = Math.ceil(slots * (1 + AHEAD_RATIO)) - this.#inFlight.countOn(lane);
        if (room <= 0) return probeCount;
        const configs = this.#unblockedConfigs(lane);
        if (configs.length === 0) return probeCount;
        const scope = { runs: this.#order.scope.runs, configs };
        const deliveries = await this.#queue.receive(lane, room, scope);
        for (const delivery of deliveries) this.#start(delivery);
        return probeCount + deliveries.length;
      }),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Starts one cell for each half-open breaker that has no probe yet. Returns how many it started. */
  async #startProbes(lane: string): Promise<number> {
    if (!this.#breakers.hasHalfOpen) return 0;
    const { benchmark, scope } = this.#order;
    let count = 0;
    for (const { name, lane: own } of benchmark.configs) {
      if (own !== lane || !scope.configs.includes(name)) continue;
      if (!this.#breakers.isReadyForProbe(name) || this.#isAtBudget(name)) continue;
      const [delivery] = await this.#queue.receive(lane, 1, { runs: scope.runs, configs: [name] });
      if (delivery === undefined) continue;
      this.#breakers.startProbe(delivery);
      this.#start(delivery);
      count += 1;
    }
    return count;
  }

  #isAtBudget(config: string): boolean {
    return this.#budget?.refusalOf(config) !== undefined;
  }

  /** The configs of a lane that neither a breaker nor the budget stops. */
  #unblockedConfigs(lane: string): readonly string[] {
    return this.#order.benchmark.configs
      .filter((config) => config.lane === lane)
      .map(({ name }) => name)
      .filter((name) => this.#breakers.isUnblocked(name) && !this.#isAtBudget(name))
      .filter((name) => this.#order.scope.configs.includes(name));
  }

  #start(delivery: Delivery): void {
    this.#breakers.start(delivery);
    this.#inFlight.start(delivery);
  }

  #execute(delivery: Delivery): Promise<Settlement> {
    const { engine, benchmark, clientFor, governor, random, solvers, scorers } = this.#order;
    return executeCell(delivery, {
      owner: engine.workers.owner,
      benchmark,
      ledger: engine.ledger,
      pool: engine.pool,
      blobs: engine.blobs,
      batches: engine.batches,
      clientFor: (lane) => this.#sentCalls.watch(clientFor(lane)),
      governor,
      budget: this.#budget?.calls,
      heartbeat: this.#heartbeat,
      clock: engine.clock,
      createDigest: createNodeDigest,
      random,
      observe: (event) => this.#observe(event),
      hasTimeToRecord: () => !this.#heldWrites.hasGivenUp,
      openBreakers: this.#breakers.openFor(delivery),
      laneHealth: this.#laneHealth,
      solvers,
      scorers,
      patterns: this.#patterns,
    });
  }

  async #settle(delivery: Delivery, settlement: Settlement): Promise<void> {
    if (settlement.kind === 'acknowledge') {
      await this.#queue.acknowledge(delivery);
      return;
    }
    this.#breakers.defer(delivery, settlement.breakerKey);
    this.#budget?.noteSettlement(delivery, settlement);
    await this.#queue.release(delivery, settlement.delayMs);
  }

  #observe(event: WorkerEvent): void {
    if (event.kind === 'call-stopped') this.#stoppedCount += 1;
    if (event.kind === 'call-lost') this.#lostCount += 1;
    this.#breakers.observe(event);
    this.#order.observe(event);
  }

  /** Reads what other processes have changed, and looks after the lanes. */
  async #refresh(): Promise<void> {
    const { engine, governor, header, observe } = this.#order;
    const monotonicMs = engine.clock.monotonicMs();
    if (monotonicMs - this.#refreshedAtMs < REFRESH_MS) return;
    this.#refreshedAtMs = monotonicMs;
    const group = await engine.ledger.readGroup(header.group);
    this.#isCancelled = group !== undefined && group.state !== 'active';
    // The command that edits it looked for processes at work just before this one registered.
    if (group !== undefined && this.#isEdited(group)) this.#fail(editedMeanwhile(header));
    const takenOver = await takeOverCells(engine);
    if (takenOver.cells.length > 0) observe({ kind: 'cells-taken-over', ...takenOver });
    await this.#budget?.refresh();
    await this.#breakers.refresh();
    await this.#waitReport.update(
      [...governor.laneWaits, ...this.#breakers.waits],
      this.#areAllWaiting,
    );
    this.#watchdog.check(monotonicMs, this.#inFlight.count);
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#idle.wake();
  }

  /** Time until the next task of an unblocked config is visible, ms, at most until the next refresh. */
  #idleMs(backlog: readonly Backlog[]): number {
    const nowMs = this.#order.engine.clock.now();
    const visibleAtMs = backlog
      .filter(({ config }) => !this.#breakers.isBlocked(config))
      .filter(({ config }) => !this.#isAtBudget(config))
      .map(({ nextVisibleAtMs }) => nextVisibleAtMs);
    return Math.min(REFRESH_MS, Math.max(IDLE_MS, Math.min(...visibleAtMs) - nowMs));
  }
}
