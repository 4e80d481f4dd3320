import { enqueueGroup, type TaskQueue } from '@thrice/core';
import type { WorkGroupOptions } from './work-group-options.ts';

/** What {@link BackgroundPlanning} needs. */
interface PlanningInit {
  readonly options: Pick<WorkGroupOptions, 'engine' | 'header' | 'benchmark' | 'isPlanned'>;
  readonly queue: Pick<TaskQueue, 'send'>;
  /** Called when tasks have been sent. */
  readonly onProgress: () => void;
}

/**
 * Sends the tasks of a group that are missing, page by page, beside the work on those that were sent.
 *
 * planning --all tasks are sent--> planned
 * planning --stop, or an error--> ended
 */
export class BackgroundPlanning {
  readonly #init: PlanningInit;
  /** Set once every task of the group is sent: only then can the work be complete. */
  #isPlanned: boolean;
  /** Aborts the planning when the work stops. */
  readonly #stopped = new AbortController();

  constructor(init: PlanningInit) {
    this.#init = init;
    this.#isPlanned = init.options.isPlanned;
  }

  /** Whether every task of the group is sent. */
  get isPlanned(): boolean {
    return this.#isPlanned;
  }

  /**
   * Sends what is missing, until it is stopped.
   *
   * @throws {ThriceError} Whatever a store throws before the planning is stopped.
   */
  async run(): Promise<void> {
    if (this.#isPlanned) return;
    const { onProgress } = this.#init;
    const { engine, header, benchmark } = this.#init.options;
    const queue: Pick<TaskQueue, 'send'> = {
      send: async (lane, tasks) => {
        await this.#init.queue.send(lane, tasks);
        onProgress();
      },
    };
    const stores = {
      ledger: engine.ledger,
      responseCache: engine.responseCache,
      blobs: engine.blobs,
      queue,
    };
    try {
      await enqueueGroup(header, benchmark, stores, this.#stopped.signal);
      this.#isPlanned = true;
      onProgress();
    } catch (error) {
      if (!this.#stopped.signal.aborted) throw error;
    }
  }

  /** Sends no more tasks. */
  stop(): void {
    this.#stopped.abort();
  }
}
