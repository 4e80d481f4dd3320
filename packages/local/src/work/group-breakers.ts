import {
  type Benchmark,
  backoffMs,
  blockersOf,
  breakerKeysOf,
  breakersFor,
  type Clock,
  type Config,
  cellConfigsOf,
  type Delivery,
  findConfig,
  isOutage,
  type LaneWait,
  type Ledger,
  laneOf,
  limits,
  modelRefOf,
  type OpenBreaker,
  type OpenBreakers,
  type Random,
  type WorkerEvent,
  type WorkerObserver,
} from '@thrice/core';
import type { Backlog, SqliteTaskQueue, TaskScope } from '../store/sqlite-task-queue.ts';

/** How long a breaker that has just opened may be missing in the ledger, ms. */
const WRITE_MS = 1_000;

/** A task in the queue whose cell waits for an open breaker. */
interface DeferredTask {
  readonly run: string;
  readonly config: string;
  readonly breakerKey: string;
}

/** The wait for a breaker to close. */
interface BreakerWait {
  /** One that opens again, or whose reset has changed, starts another wait. */
  readonly breaker: OpenBreaker;
  /** Monotonic ms. */
  readonly endsAtMs: number;
  /** When it ends by the wall clock, ms since 1970: monotonic time stands still while the machine is asleep. */
  readonly endsAtWallMs: number;
  /** When the wait ends, for people. */
  readonly until: string;
}

/** What {@link GroupBreakers} needs. */
interface BreakersInit {
  readonly benchmark: Benchmark;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly random: Random;
  readonly queue: SqliteTaskQueue;
  readonly observe: WorkerObserver;
  /** Wait for exhausted lanes instead of ending as paused. */
  readonly waitForQuota: boolean;
  /** Whether the lane's servers have responded to this process; see `LaneHealth`. */
  readonly hasResponded: (lane: string) => boolean;
  /** The part of the group that is worked on. */
  readonly scope: TaskScope;
  /** Keys of breakers that are half-open from the start: the user says that they can close. */
  readonly halfOpen: ReadonlySet<string>;
}

/**
 * The open breakers, as one process that works on a group knows them, and the tasks that wait for them.
 *
 * A breaker is open --its wait is over--> half-open --a call is answered--> closed, or --the call opens it again-->
 * open. While it is half-open, one cell at a time may call: its probe. In the ledger a half-open breaker is open.
 */
export class GroupBreakers {
  readonly #init: BreakersInit;
  readonly #openBreakers = new Map<string, OpenBreaker>();
  /** When each breaker was opened by a cell of this process, monotonic ms. */
  readonly #openedHereMs = new Map<string, number>();
  readonly #waits = new Map<string, BreakerWait>();
  /** The half-open breakers, with the name of the task that is their probe while there is one. */
  readonly #halfOpen = new Map<string, string | undefined>();
  /** Half-open breakers that a response has closed, until the ledger knows it. */
  readonly #answered = new Map<string, OpenBreaker>();
  /** When this process first saw each outage, monotonic ms. */
  readonly #outageSeenMs = new Map<string, number>();
  #hasRefreshed = false;
  /** Deferred tasks by name, until they are started again or their breaker closes. */
  readonly #deferredTasks = new Map<string, DeferredTask>();
  /** How often each breaker has been half-open without an answer; drives the backoff. */
  readonly #reopenCounts = new Map<string, number>();

  constructor(init: BreakersInit) {
    this.#init = init;
  }

  /** The open breakers that a task has to respect, by key; changes during the work. */
  openFor(delivery: Delivery): OpenBreakers {
    if (this.#halfOpen.size === 0) return this.#openBreakers;
    const name = nameOf(delivery);
    const own = new Set(
      [...this.#halfOpen].flatMap(([key, probe]) => (probe === name ? [key] : [])),
    );
    if (own.size === 0) return this.#openBreakers;
    return new Map([...this.#openBreakers].filter(([key]) => !own.has(key)));
  }

  /** The breakers that block a whole backlog: one of each of its config's models, or those that its tasks wait for. */
  blockersOf({ run, config, count }: Backlog): readonly OpenBreaker[] {
    const blocking = this.#blocking(config);
    if (blocking.length > 0) return blocking;
    // Whatever it was deferred by, another of its models can answer.
    if (this.#configOf(config)?.combination.failsOver === true) return [];
    const deferred = [...this.#deferredTasks.values()].filter(
      (task) => task.run === run && task.config === config,
    );
    if (deferred.length !== count) return [];
    return deferred.flatMap(({ breakerKey }) => this.#openBreakers.get(breakerKey) ?? []);
  }

  /** Whether breakers block all cells of a config; a half-open one lets one cell pass. */
  isBlocked(configName: string): boolean {
    return this.#blocking(configName).length > 0;
  }

  /** One breaker of each model of a config, if each has one that lets no cell pass; else none. */
  #blocking(configName: string): readonly OpenBreaker[] {
    const blocking = this.#breakersByModel(configName).map((breakers) =>
      breakers.find(({ breakerKey }) => !this.#halfOpen.has(breakerKey)),
    );
    return blocking.includes(undefined)
      ? []
      : [...new Set(blocking.filter((breaker) => breaker !== undefined))];
  }

  /** Whether every breaker of a config is closed. */
  isUnblocked(configName: string): boolean {
    return this.#breakersOf(configName).length === 0;
  }

  /** Whether nothing may be sent to a lane or model: its breaker is open, and not half-open. */
  isModelBlocked(target: { readonly lane: string; readonly model: string }): boolean {
    const open = breakersFor(target, this.#openBreakers);
    return open.some(({ breakerKey }) => !this.#halfOpen.has(breakerKey));
  }

  /** Whether any breaker is half-open. */
  get hasHalfOpen(): boolean {
    return this.#halfOpen.size > 0;
  }

  /** Whether a cell of a blocked config can be the probe of a model's breakers. */
  isReadyForProbe(configName: string): boolean {
    return this.#probedBy(configName).length > 0;
  }

  /** The breakers that a cell of a blocked config would be the probe of: those of each model that are all half-open. */
  #probedBy(configName: string): readonly OpenBreaker[] {
    if (this.isUnblocked(configName)) return [];
    return this.#breakersByModel(configName)
      .filter((breakers) => breakers.every(({ breakerKey }) => this.#isReady(breakerKey)))
      .flat();
  }

  #isReady(breakerKey: string): boolean {
    return this.#halfOpen.has(breakerKey) && this.#halfOpen.get(breakerKey) === undefined;
  }

  #breakersOf(configName: string): readonly OpenBreaker[] {
    return blockersOf(this.#rolesOf(configName), this.#openBreakers);
  }

  #breakersByModel(configName: string): readonly (readonly OpenBreaker[])[] {
    return this.#rolesOf(configName).map((role) => breakersFor(role, this.#openBreakers));
  }

  #rolesOf(configName: string): Config['roles'] {
    return this.#configOf(configName)?.roles ?? [];
  }

  #configOf(configName: string): Config | undefined {
    return findConfig(this.#init.benchmark, configName);
  }

  /** Makes a task the probe of the half-open breakers of its config. */
  startProbe(delivery: Delivery): void {
    for (const { breakerKey } of this.#probedBy(delivery.task.config))
      this.#halfOpen.set(breakerKey, nameOf(delivery));
  }

  /** Notes that the work on a task has ended; if it was a probe without a result, another cell may be one. */
  endProbe(delivery: Delivery): void {
    const name = nameOf(delivery);
    for (const [breakerKey, probe] of this.#halfOpen) {
      if (probe === name) this.#halfOpen.set(breakerKey, undefined);
    }
  }

  /** Whether the work waits until the breaker closes instead of ending as paused. */
  isWaitedFor(breaker: OpenBreaker): boolean {
    if (!isOutage(breaker)) return this.#init.waitForQuota && breaker.error.class === 'exhausted';
    const { breakerKey } = breaker;
    const nowMs = this.#init.clock.monotonicMs();
    const sinceMs = this.#outageSeenMs.get(breakerKey) ?? nowMs;
    this.#outageSeenMs.set(breakerKey, sinceMs);
    const { outagePatienceMs, outageFirstPatienceMs } = limits;
    const hasResponded = this.#init.hasResponded(laneOf(breakerKey));
    return nowMs - sinceMs < (hasResponded ? outagePatienceMs : outageFirstPatienceMs);
  }

  /** The breakers that the work waits for, and until when. */
  get waits(): readonly LaneWait[] {
    return [...this.#waits.values()].map(({ breaker, until }) => ({
      breakerKey: breaker.breakerKey,
      until,
      reason: breaker.error.message,
    }));
  }

  /** Notes a task that waits for a breaker, unless the breaker has closed meanwhile. */
  defer(delivery: Delivery, breakerKey: string | undefined): void {
    if (breakerKey === undefined || !this.#openBreakers.has(breakerKey)) return;
    const { run, config } = delivery.task;
    this.#deferredTasks.set(nameOf(delivery), { run, config, breakerKey });
  }

  /** Notes that a task is started again. */
  start(delivery: Delivery): void {
    this.#deferredTasks.delete(nameOf(delivery));
  }

  /** Notes what happened to the cells of this process. */
  observe(event: WorkerEvent): void {
    if (event.kind === 'breaker-opened') {
      const { breakerKey } = event.breaker;
      this.#openBreakers.set(breakerKey, event.breaker);
      this.#openedHereMs.set(breakerKey, this.#init.clock.monotonicMs());
      this.#halfOpen.delete(breakerKey);
      this.#answered.delete(breakerKey);
    }
    if (event.kind === 'server-responded') this.#closeFor(event);
    if (event.kind === 'batch-accepted') this.#closeFor(event.batch);
  }

  /** Closes the half-open breakers of a lane and a model that have responded. */
  #closeFor(target: { readonly lane: string; readonly model: string }): void {
    if (this.#halfOpen.size === 0) return;
    for (const breakerKey of [target.lane, modelRefOf(target)]) {
      if (!this.#halfOpen.delete(breakerKey)) continue;
      const breaker = this.#openBreakers.get(breakerKey);
      this.#openBreakers.delete(breakerKey);
      this.#reopenCounts.delete(breakerKey);
      if (breaker !== undefined) this.#answered.set(breakerKey, breaker);
    }
  }

  /** Closes the breakers that a response has closed for the other processes, and lets their cells go. */
  async closeAnswered(): Promise<void> {
    for (const [breakerKey, breaker] of this.#answered) {
      await this.#init.ledger.closeBreaker(breaker);
      await this.#endDeferrals(breakerKey);
      // One that has opened again meanwhile stays.
      if (this.#answered.delete(breakerKey)) this.#forget(breakerKey);
    }
  }

  /** Reads the open breakers from the ledger, and half-opens those whose wait is over. */
  async refresh(): Promise<void> {
    await this.closeAnswered();
    const listed = await this.#init.ledger.listOpenBreakers();
    this.#forgetClosed(listed);
    const isFirst = !this.#hasRefreshed;
    this.#hasRefreshed = true;
    for (const breaker of listed) {
      const { breakerKey } = breaker;
      if (this.#answered.has(breakerKey)) continue;
      this.#openBreakers.set(breakerKey, breaker);
      if (this.#halfOpen.has(breakerKey)) continue;
      const isTried = isFirst && this.#init.halfOpen.has(breakerKey);
      const isDue = this.isWaitedFor(breaker) && this.#isWaitOver(breaker);
      if (isTried || isDue) await this.#halfOpenBreaker(breaker);
    }
  }

  /** Forgets the breakers that another process has closed. */
  #forgetClosed(listed: readonly OpenBreaker[]): void {
    const nowMs = this.#init.clock.monotonicMs();
    const breakerKeys = new Set(listed.map(({ breakerKey }) => breakerKey));
    for (const breakerKey of this.#openBreakers.keys()) {
      // A breaker that has just opened may not be in the ledger yet.
      const sinceMs = this.#openedHereMs.get(breakerKey) ?? Number.NEGATIVE_INFINITY;
      if (nowMs - sinceMs >= WRITE_MS && !breakerKeys.has(breakerKey)) this.#forget(breakerKey);
    }
  }

  async #halfOpenBreaker(breaker: OpenBreaker): Promise<void> {
    const { queue, ledger, scope } = this.#init;
    const { breakerKey } = breaker;
    this.#reopenCounts.set(breakerKey, (this.#reopenCounts.get(breakerKey) ?? 0) + 1);
    const hasProbe = (await queue.readBacklog()).some(
      ({ run, config }) =>
        scope.runs.includes(run) &&
        scope.configs.includes(config) &&
        this.#breakersOf(config).some((each) => each.breakerKey === breakerKey),
    );
    if (hasProbe) this.#halfOpen.set(breakerKey, undefined);
    else {
      // Only solvers call it, beside their config's own model: no cell is sure to.
      await ledger.closeBreaker(breaker);
      this.#forget(breakerKey);
    }
    await this.#endDeferrals(breakerKey);
  }

  /** Lets the tasks go that may call what a breaker blocked. They are in the queue of their config's first model. */
  async #endDeferrals(breakerKey: string): Promise<void> {
    const { benchmark, queue } = this.#init;
    const waiting = cellConfigsOf(benchmark).filter((config) =>
      breakerKeysOf(config).includes(breakerKey),
    );
    for (const lane of new Set(waiting.map((config) => config.lane))) await queue.makeVisible(lane);
  }

  #forget(breakerKey: string): void {
    this.#outageSeenMs.delete(breakerKey);
    this.#halfOpen.delete(breakerKey);
    this.#openBreakers.delete(breakerKey);
    this.#openedHereMs.delete(breakerKey);
    this.#waits.delete(breakerKey);
    for (const [name, task] of this.#deferredTasks) {
      if (task.breakerKey === breakerKey) this.#deferredTasks.delete(name);
    }
  }

  #isWaitOver(breaker: OpenBreaker): boolean {
    const { clock } = this.#init;
    const known = this.#waits.get(breaker.breakerKey);
    const isSame =
      known?.breaker.openedAt === breaker.openedAt &&
      known.breaker.resetAt === breaker.resetAt &&
      known.breaker.probeAt === breaker.probeAt;
    const wait = isSame ? known : this.#startWait(breaker);
    this.#waits.set(breaker.breakerKey, wait);
    return clock.monotonicMs() >= wait.endsAtMs || clock.now() >= wait.endsAtWallMs;
  }

  /**
   * Starts to wait: until the probe or reset if that is known and later than the opening, else for a backoff. A reset
   * after which the lane refused again is not believed before the backoff ends.
   */
  #startWait(breaker: OpenBreaker): BreakerWait {
    const { clock, observe } = this.#init;
    const { breakerKey, openedAt, resetAt, probeAt } = breaker;
    const nowMs = clock.now();
    const openedAtMs = Date.parse(openedAt);
    const resetMs = Date.parse(probeAt ?? resetAt ?? '') - openedAtMs;
    const isResetKnown = resetMs > 0;
    const isBelieved = isOutage(breaker) || !this.#reopenCounts.has(breakerKey);
    const durationMs = Math.max(
      isResetKnown ? resetMs : 0,
      isResetKnown && isBelieved ? 0 : this.#backoffOf(breakerKey),
    );
    // The clock may have been set back after the breaker opened.
    const leftMs = Math.max(0, durationMs - Math.max(0, nowMs - openedAtMs));
    if (!isOutage(breaker)) observe({ kind: 'breaker-waiting', breaker, untilMs: nowMs + leftMs });
    return {
      breaker,
      endsAtMs: clock.monotonicMs() + leftMs,
      endsAtWallMs: nowMs + leftMs,
      until: clock.toIso(nowMs + leftMs),
    };
  }

  /** Doubles with each probe that was not answered, ms. */
  #backoffOf(breakerKey: string): number {
    return backoffMs((this.#reopenCounts.get(breakerKey) ?? 0) + 1, {
      baseMs: limits.quotaBackoffBaseMs,
      capMs: limits.quotaBackoffCapMs,
      random: this.#init.random,
    });
  }
}

/** A name for the cell of a delivery. */
export function nameOf({ task }: Delivery): string {
  return [task.run, task.config, task.id].join('\n');
}
