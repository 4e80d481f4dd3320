import {
  type Benchmark,
  backoffMs,
  breakersFor,
  type Clock,
  type Delivery,
  type LaneWait,
  type Ledger,
  limits,
  modelRefOf,
  type OpenBreaker,
  type OpenBreakers,
  type WorkerEvent,
  type WorkerObserver,
} from '@thrice/core';
import type { Backlog, SqliteTaskQueue } from './sqlite-task-queue.ts';

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
  /** When the quota resets, ms since 1970; undefined if that is unknown. */
  readonly resetAtMs: number | undefined;
  /** When the wait ends, for people. */
  readonly until: string;
}

/** What {@link GroupBreakers} needs. */
interface BreakersInit {
  readonly benchmark: Benchmark;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly queue: SqliteTaskQueue;
  readonly observe: WorkerObserver;
  /** Wait for exhausted lanes instead of ending as paused. */
  readonly waitForQuota: boolean;
}

/** The open breakers, as one process that works on a group knows them, and the tasks that wait for them. */
export class GroupBreakers {
  readonly #init: BreakersInit;
  readonly #openBreakers = new Map<string, OpenBreaker>();
  /** When each breaker was opened by a cell of this process, monotonic ms. */
  readonly #openedHereMs = new Map<string, number>();
  readonly #waits = new Map<string, BreakerWait>();
  /** Deferred tasks by name, until they are started again or their breaker closes. */
  readonly #deferredTasks = new Map<string, DeferredTask>();
  /** How often each breaker has opened again without an answer since it closed; drives the backoff. */
  readonly #reopenCounts = new Map<string, number>();

  constructor(init: BreakersInit) {
    this.#init = init;
  }

  /** By key; changes during the work. */
  get open(): OpenBreakers {
    return this.#openBreakers;
  }

  /** The breakers that block a whole backlog: its config's, or those that each of its tasks waits for. */
  blockersOf({ run, config, count }: Backlog): readonly OpenBreaker[] {
    const breaker = this.breakerOf(config);
    if (breaker !== undefined) return [breaker];
    const deferred = [...this.#deferredTasks.values()].filter(
      (task) => task.run === run && task.config === config,
    );
    if (deferred.length !== count) return [];
    return deferred.flatMap(({ breakerKey }) => this.#openBreakers.get(breakerKey) ?? []);
  }

  /** The breaker that blocks a config, if one does. */
  breakerOf(configName: string): OpenBreaker | undefined {
    const config = this.#init.benchmark.configs.find(({ name }) => name === configName);
    return config === undefined ? undefined : breakersFor(config, this.#openBreakers)[0];
  }

  /** Whether the work waits until the breaker closes instead of ending as paused. */
  isWaitedFor(breaker: OpenBreaker): boolean {
    return this.#init.waitForQuota && breaker.error.class === 'exhausted';
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
    }
    if (event.kind === 'cell-completed' && this.#reopenCounts.size > 0)
      this.#forgetReopenCount(event.key.config);
  }

  /** Reads the open breakers from the ledger, and closes those whose wait is over. */
  async refresh(): Promise<void> {
    const { ledger, clock } = this.#init;
    const listed = await ledger.listOpenBreakers();
    const breakerKeys = new Set(listed.map(({ breakerKey }) => breakerKey));
    for (const breakerKey of this.#openBreakers.keys()) {
      // A breaker that has just opened may not be in the ledger yet.
      const sinceMs = this.#openedHereMs.get(breakerKey) ?? Number.NEGATIVE_INFINITY;
      const isSettled = clock.monotonicMs() - sinceMs >= WRITE_MS;
      if (isSettled && !breakerKeys.has(breakerKey)) this.#forget(breakerKey);
    }
    for (const breaker of listed) {
      this.#openBreakers.set(breaker.breakerKey, breaker);
      if (this.isWaitedFor(breaker) && this.#isWaitOver(breaker)) await this.#close(breaker);
    }
  }

  async #close({ breakerKey }: OpenBreaker): Promise<void> {
    await this.#init.ledger.closeBreaker(breakerKey);
    await this.#init.queue.makeVisible(breakerKey);
    this.#forget(breakerKey);
    this.#reopenCounts.set(breakerKey, (this.#reopenCounts.get(breakerKey) ?? 0) + 1);
  }

  #forget(breakerKey: string): void {
    this.#openBreakers.delete(breakerKey);
    this.#openedHereMs.delete(breakerKey);
    this.#waits.delete(breakerKey);
    for (const [name, task] of this.#deferredTasks) {
      if (task.breakerKey === breakerKey) this.#deferredTasks.delete(name);
    }
  }

  #forgetReopenCount(configName: string): void {
    const config = this.#init.benchmark.configs.find(({ name }) => name === configName);
    if (config === undefined) return;
    this.#reopenCounts.delete(config.lane);
    this.#reopenCounts.delete(modelRefOf(config));
  }

  #isWaitOver(breaker: OpenBreaker): boolean {
    const { clock } = this.#init;
    const known = this.#waits.get(breaker.breakerKey);
    const isSame =
      known?.breaker.openedAt === breaker.openedAt && known.breaker.resetAt === breaker.resetAt;
    const wait = isSame ? known : this.#startWait(breaker);
    this.#waits.set(breaker.breakerKey, wait);
    if (clock.monotonicMs() >= wait.endsAtMs) return true;
    // A machine that was asleep comes to the reset before its monotonic time does.
    return wait.resetAtMs !== undefined && clock.now() >= wait.resetAtMs;
  }

  /** Starts to wait: until the reset if that is known and later than the opening, else for a backoff. */
  #startWait(breaker: OpenBreaker): BreakerWait {
    const { clock, observe } = this.#init;
    const { breakerKey, openedAt, resetAt } = breaker;
    const nowMs = clock.now();
    const openedAtMs = Date.parse(openedAt);
    const resetAtMs = resetAt === null ? Number.NaN : Date.parse(resetAt);
    const isResetKnown = resetAtMs > openedAtMs;
    const durationMs = isResetKnown
      ? resetAtMs - openedAtMs
      : backoffMs((this.#reopenCounts.get(breakerKey) ?? 0) + 1, {
          baseMs: limits.quotaBackoffBaseMs,
          capMs: limits.quotaBackoffCapMs,
          random: () => 0.5,
        });
    // The clock may have been set back after the breaker opened.
    const leftMs = Math.max(0, durationMs - Math.max(0, nowMs - openedAtMs));
    observe({ kind: 'breaker-waiting', breakerKey, untilMs: nowMs + leftMs });
    return {
      breaker,
      endsAtMs: clock.monotonicMs() + leftMs,
      resetAtMs: isResetKnown ? resetAtMs : undefined,
      until: clock.toIso(nowMs + leftMs),
    };
  }
}

/** A name for the cell of a delivery. */
export function nameOf({ task }: Delivery): string {
  return [task.run, task.config, task.id].join('\n');
}
