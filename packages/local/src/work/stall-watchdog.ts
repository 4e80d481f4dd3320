import type { WorkOrder } from './work-order.ts';

/** After this long, ms, a stall of the governor is a bug. */
const STALL_MS = 30_000;

/**
 * Reports a stall of the governor and ends it. A stall is a bug of the governor, but it must not stop a run.
 *
 * granting --the governor is stalled--> stalled --it grants again--> granting
 * stalled --STALL_MS have passed--> reported and recovered, which is granting
 */
export class StallWatchdog {
  readonly #order: Pick<WorkOrder, 'governor' | 'observe'>;
  /** When the governor was first seen stalled, monotonic ms; undefined if it is not. */
  #stalledSinceMs: number | undefined;

  constructor(order: Pick<WorkOrder, 'governor' | 'observe'>) {
    this.#order = order;
  }

  /** Examines the governor now, while so many cells are in flight. */
  check(monotonicMs: number, cellCount: number): void {
    const { governor, observe } = this.#order;
    if (!governor.isStalled) this.#stalledSinceMs = undefined;
    else this.#stalledSinceMs ??= monotonicMs;
    if (monotonicMs - (this.#stalledSinceMs ?? monotonicMs) < STALL_MS) return;
    this.#stalledSinceMs = undefined;
    observe({ kind: 'stalled', cellCount, forMs: STALL_MS });
    governor.recover();
  }
}
