import type { LaneWait } from '@thrice/core';
import type { WorkOrder } from './work-order.ts';

/** Tells the user, and those who ask from another process, what the work waits for. */
export class WaitReport {
  readonly #order: Pick<WorkOrder, 'engine' | 'observe'>;
  /** What was last reported to be waited for, as JSON. */
  #reportedWaits = '[]';

  constructor(order: Pick<WorkOrder, 'engine' | 'observe'>) {
    this.#order = order;
  }

  /** Reports what is waited for, unless nothing has changed since the last report. */
  async update(waits: readonly LaneWait[]): Promise<void> {
    const { engine, observe } = this.#order;
    const reported = JSON.stringify(waits);
    if (reported === this.#reportedWaits) return;
    this.#reportedWaits = reported;
    observe({ kind: 'lanes-waiting', waits });
    await engine.workers.reportWaits(waits);
  }
}
