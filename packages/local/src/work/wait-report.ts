import type { LaneWait } from '@thrice/core';
import type { WorkGroupOptions } from './work-group-options.ts';

/** Tells the user, and those who ask from another process, what the work waits for. */
export class WaitReport {
  readonly #options: Pick<WorkGroupOptions, 'engine' | 'observe'>;
  /** What was last reported, as JSON. */
  #reported = '[[],false]';

  constructor(options: Pick<WorkGroupOptions, 'engine' | 'observe'>) {
    this.#options = options;
  }

  /** Reports what is waited for, unless nothing has changed since the last report. */
  async update(waits: readonly LaneWait[], areAllWaiting: boolean): Promise<void> {
    const { engine, observe } = this.#options;
    const reported = JSON.stringify([waits, areAllWaiting]);
    if (reported === this.#reported) return;
    this.#reported = reported;
    observe({ kind: 'lanes-waiting', waits, areAllWaiting });
    await engine.workers.reportWaits(waits);
  }
}
