import {
  advanceBatch,
  type Batch,
  type BatchWorker,
  type CallBudget,
  cancelBatch,
  type LaneHealth,
  ThriceError,
  toThriceError,
  type WorkerObserver,
} from '@thrice/core';
import type { SqliteTaskQueue } from '../store/sqlite-task-queue.ts';
import { WakeableSleep } from './wakeable-sleep.ts';
import type { WorkGroupOptions } from './work-group-options.ts';

/** The longest that a batch waits for this process to see that another, which looked after it, is gone, ms. */
const REFRESH_MS = 1_000;

/** What {@link GroupBatches} needs. */
interface BatchesInit {
  readonly options: Pick<WorkGroupOptions, 'engine' | 'header' | 'benchmark' | 'batchClientFor'>;
  readonly queue: Pick<SqliteTaskQueue, 'wake'>;
  readonly budget: CallBudget | undefined;
  readonly laneHealth: LaneHealth;
  readonly observe: WorkerObserver;
  /** Whether nothing may be sent to the lane or the model of a batch. */
  readonly isBlocked: (batch: Batch) => boolean;
  /** Called when cells can be delivered again. */
  readonly onProgress: () => void;
}

/**
 * Sends the batches of a group and records their results, while the cells in them wait in the queue.
 *
 * working --end--> ending, once its request has ended --> ended
 * working or ending --stop--> ended, with its request stopped: another process finds out what became of it
 */
export class GroupBatches {
  readonly #init: BatchesInit;
  readonly #sleep: WakeableSleep;
  readonly #stopped = new AbortController();
  /** When the next step of each batch is due, monotonic ms. */
  readonly #dueAtMs = new Map<string, number>();
  #isEnding = false;
  #isNothingEntering = false;

  constructor(init: BatchesInit) {
    this.#init = init;
    this.#sleep = new WakeableSleep(init.options.engine.clock);
  }

  /** Looks after the batches until it is told to end. */
  async run(): Promise<void> {
    while (!this.#isEnding) {
      try {
        await this.#advanceAll();
      } catch (thrown) {
        const error = toThriceError(thrown);
        if (error.code !== 'store-unavailable') throw error;
      }
      if (!this.#isEnding) await this.#sleep.sleep(REFRESH_MS);
    }
  }

  /** Starts no more requests. */
  end(): void {
    this.#isEnding = true;
    this.#sleep.wake();
  }

  /** Stops the request in flight, too. */
  stop(): void {
    this.#stopped.abort(new ThriceError({ code: 'interrupted', message: 'stopped' }));
    this.end();
  }

  /** Notes that every cell waits: nothing more enters the batches that gather calls. */
  closeGathering(): void {
    this.#isNothingEntering = true;
    this.#sleep.wake();
  }

  /** Whether a batch will bring cells back. */
  async hasOpen(): Promise<boolean> {
    const open = await this.#list();
    return open.some((batch) => !this.#init.isBlocked(batch));
  }

  /** Asks the vendors to stop, and records what they have worked on, as far as they say so at once. */
  async cancelAll(): Promise<void> {
    for (const batch of await this.#list())
      await cancelBatch(batch, this.#worker, this.#stopped.signal);
  }

  async #advanceAll(): Promise<void> {
    const isClosing = this.#isNothingEntering;
    this.#isNothingEntering = false;
    for (const batch of await this.#list()) {
      if (this.#isEnding) return;
      if (!this.#init.isBlocked(batch)) await this.#advance(batch, isClosing);
    }
  }

  async #advance(batch: Batch, isClosing: boolean): Promise<void> {
    const { clock, batches } = this.#init.options.engine;
    const { batchId } = batch;
    if ((this.#dueAtMs.get(batchId) ?? 0) > clock.monotonicMs()) return;
    const isClosed = isClosing && batch.state === 'gathering';
    const due: Batch = isClosed ? { ...batch, state: 'closed' } : batch;
    if (isClosed && !(await batches.replace(batch, due))) return;
    const delayMs = await advanceBatch(due, this.#worker, this.#stopped.signal);
    if (delayMs === undefined) this.#dueAtMs.delete(batchId);
    else this.#dueAtMs.set(batchId, clock.monotonicMs() + delayMs);
  }

  async #list(): Promise<readonly Batch[]> {
    const { engine, header } = this.#init.options;
    return await engine.batches.list(header.group);
  }

  get #worker(): BatchWorker {
    const { options, queue, budget, laneHealth, observe, onProgress } = this.#init;
    const { engine, benchmark, batchClientFor } = options;
    const { batches, ledger, clock, workers } = engine;
    return {
      owner: workers.owner,
      benchmark,
      batches,
      ledger,
      budget,
      laneHealth,
      batchClientFor,
      clock,
      observe,
      wake: async (ended) => {
        await queue.wake(ended.map(({ cell }) => cell));
        // They may enter another batch.
        this.#isNothingEntering = false;
        onProgress();
      },
      isGone: (owner) => workers.isGone(owner),
      roundMs: REFRESH_MS,
    };
  }
}
