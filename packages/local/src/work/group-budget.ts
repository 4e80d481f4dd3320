import {
  type BudgetRefusal,
  CallBudget,
  type Delivery,
  openBudget,
  recoverReservations,
  type Settlement,
  type WorkerObserver,
} from '@thrice/core';
import type { WorkGroupOptions } from './work-group-options.ts';

/** How many times as long as it takes to look for the calls of dead processes, from one time to the next. */
const RECOVERY_PAUSE = 20;

/** The budget of a group, as one process that works on it knows it, and the configs that it has stopped. */
export class GroupBudget {
  readonly calls: CallBudget;
  readonly #options: Pick<WorkGroupOptions, 'engine' | 'header'>;
  readonly #refusals = new Map<string, BudgetRefusal>();
  /** When the calls of dead processes are looked for again, monotonic ms. */
  #recoverAtMs = Number.NEGATIVE_INFINITY;

  private constructor(options: WorkGroupOptions, observe: WorkerObserver) {
    const { engine, header, benchmark } = options;
    this.#options = options;
    this.calls = new CallBudget({
      group: header.group,
      owner: engine.workers.owner,
      benchmark,
      budgets: engine.budgets,
      clock: engine.clock,
      observe,
    });
  }

  /** Opens the budget of a group; undefined if its plan has none. */
  static async open(
    options: WorkGroupOptions,
    observe: WorkerObserver,
  ): Promise<GroupBudget | undefined> {
    const { engine, header, benchmark } = options;
    const hasCaps = await openBudget(header, benchmark, engine.budgets);
    return hasCaps ? new GroupBudget(options, observe) : undefined;
  }

  /** Notes that the budget does not cover the next call of a cell, and thus of its config. */
  noteSettlement({ task }: Delivery, settlement: Settlement): void {
    if (settlement.kind !== 'release' || settlement.budget === undefined) return;
    this.#refusals.set(task.config, settlement.budget);
  }

  /** Why a config gets no more calls; undefined while it does. */
  refusalOf(config: string): BudgetRefusal | undefined {
    return this.#refusals.get(config);
  }

  /** Settles the calls of dead processes, and those that have outlived their time limit. */
  async refresh(): Promise<void> {
    const {
      engine: { budgets, batches, ledger, workers, clock },
      header,
    } = this.#options;
    const startMs = clock.monotonicMs();
    if (startMs < this.#recoverAtMs) return;
    const nowMs = clock.now();
    await recoverReservations(header.group, {
      budgets,
      batches,
      ledger,
      // Not what is seen at work: the clock may have been set forward.
      isOver: ({ owner, untilMs }) =>
        workers.isGone(owner) || (untilMs <= nowMs && !workers.isAtWork(owner)),
      settle: (call, costUsd) => this.calls.settle(call, costUsd),
    });
    // Calls in batches are many, and in flight for hours: looking through them takes a small part of the time.
    const tookMs = clock.monotonicMs() - startMs;
    this.#recoverAtMs = startMs + tookMs * RECOVERY_PAUSE;
  }
}
