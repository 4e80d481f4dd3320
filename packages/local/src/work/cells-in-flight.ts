import type { Delivery, Settlement } from '@thrice/core';
import { nameOf } from './group-breakers.ts';

/** What {@link CellsInFlight} needs. */
interface InFlightInit {
  /** Works on the cell of a delivery. */
  readonly execute: (delivery: Delivery) => Promise<Settlement>;
  /** Settles the task of a delivery whose cell has been worked on. */
  readonly settle: (delivery: Delivery, settlement: Settlement) => Promise<void>;
  /** Called with what either of them throws. */
  readonly onFailure: (error: unknown) => void;
  /** Called when the delivery is no longer in flight, however that ended. */
  readonly onEnd: (delivery: Delivery) => void;
}

/**
 * The deliveries that this process works on, counted by lane.
 *
 * started --no earlier one of its cell is executing--> executing --its cell is worked on--> settling --> ended
 * executing or settling --an error--> ended
 *
 * A cell is executed once at a time: two deliveries of it are executed in the order in which they were started.
 */
export class CellsInFlight {
  readonly #init: InFlightInit;
  /** Deliveries in flight by lane. */
  readonly #counts = new Map<string, number>();
  /** The end of the work on each cell in flight, by its name. */
  readonly #executions = new Map<string, Promise<void>>();

  constructor(init: InFlightInit) {
    this.#init = init;
  }

  /** Starts the work on the cell of a delivery. */
  start(delivery: Delivery): void {
    const { execute, settle, onFailure, onEnd } = this.#init;
    const name = nameOf(delivery);
    this.#change(delivery.lane, 1);
    // A rerun may send the next task of a cell while this process still works on the earlier one.
    const earlier = this.#executions.get(name);
    const execution =
      earlier === undefined ? execute(delivery) : earlier.then(() => execute(delivery));
    const forget = () => {
      if (this.#executions.get(name) === ended) this.#executions.delete(name);
    };
    // Before its task is settled: a task that is released without a delay may be back at once.
    const ended = execution.then(forget, forget);
    this.#executions.set(name, ended);
    void execution
      .then((settlement) => settle(delivery, settlement))
      .catch(onFailure)
      .finally(() => {
        this.#change(delivery.lane, -1);
        onEnd(delivery);
      });
  }

  /** How many there are on a lane. */
  countOn(lane: string): number {
    return this.#counts.get(lane) ?? 0;
  }

  /** How many there are on all lanes. */
  get count(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  #change(lane: string, change: 1 | -1): void {
    this.#counts.set(lane, this.countOn(lane) + change);
  }
}
