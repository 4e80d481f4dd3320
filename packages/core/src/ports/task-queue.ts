import type { CellTask } from '../domain/cell-task.ts';

/** A task in a worker's hands: invisible to others until released, acknowledged or expired. */
export interface Delivery {
  readonly lane: string;
  readonly task: CellTask;
  /** Proves the holder; opaque. */
  readonly receipt: string;
}

/**
 * Tasks, one queue per lane.
 *
 * **Delivery.** At least once, in no promised order: a task may come twice, and comes again when
 * its holder neither acknowledges nor extends it within `limits.leaseMs`.
 * **Idempotency.** A receipt is valid until its task is acknowledged or delivered again. One that is
 * no longer valid is never an error and at best changes nothing; an engine may still let it hide, show
 * or remove the task, so only tasks of done cells may be acknowledged. Sending the same task twice may
 * deliver it twice.
 * **Limits.** A receive returns between 0 and `max` deliveries and does not wait for more.
 */
export interface TaskQueue {
  /** Adds tasks, visible at once; resolves when they are durable. Any number, none included. */
  send(lane: string, tasks: readonly CellTask[]): Promise<void>;
  /** @param max - >= 1; an engine may return fewer even though there are more. */
  receive(lane: string, max: number): Promise<readonly Delivery[]>;
  /** Keeps deliveries invisible for another `limits.leaseMs`. */
  extend(deliveries: readonly Delivery[]): Promise<void>;
  /**
   * Gives a task back, visible again after `delayMs`.
   *
   * @param delayMs - >= 0; an engine may round it up to whole seconds and cut it to 11 hours.
   */
  release(delivery: Delivery, delayMs: number): Promise<void>;
  /** Removes a task for good. */
  acknowledge(delivery: Delivery): Promise<void>;
}
