import type { WriteHold } from '../store/group-commit.ts';
import type { WriteProblem } from '../store/map-sqlite-error.ts';
import type { WorkGroupOptions } from './work-group-options.ts';

/**
 * Holds the writes of the work that the store does not take. No call is made meanwhile.
 *
 * writable --the store takes no writes--> unwritable --it takes them again--> writable
 * unwritable --stop, and the store does not take them in one more attempt--> given up
 */
export class HeldWrites implements Disposable {
  readonly #options: Pick<WorkGroupOptions, 'engine' | 'governor' | 'observe' | 'stopSignal'>;
  /** Holds what the store does not take; disposed of to give that up. */
  #hold: WriteHold | undefined;
  #isStoreUnwritable = false;
  #isStoreDeleted = false;
  #hasGivenUp = false;

  constructor(options: Pick<WorkGroupOptions, 'engine' | 'governor' | 'observe' | 'stopSignal'>) {
    this.#options = options;
  }

  /** Whether what the store does not take has been given up. */
  get hasGivenUp(): boolean {
    return this.#hasGivenUp;
  }

  /** Whether the store takes no writes because its file was deleted. */
  get isStoreDeleted(): boolean {
    return this.#isStoreDeleted;
  }

  /** From now on, writes that the store does not take are held. */
  start(): void {
    this.#hold = this.#options.engine.holdWrites({
      onUnwritable: (problem) => this.#pause(problem),
      onWritable: () => this.#resume(),
    });
  }

  /** Gives up what is held. A store that is only busy yet is given up as soon as it is reported. */
  stop(): void {
    if (this.#isStoreUnwritable) this.#giveUp();
  }

  /** Holds nothing any more; what the store does not take in one more attempt fails. */
  [Symbol.dispose](): void {
    this.#hold?.[Symbol.dispose]();
  }

  #pause(problem: WriteProblem): void {
    const { governor, observe, stopSignal } = this.#options;
    governor.pause();
    this.#isStoreUnwritable = true;
    this.#isStoreDeleted = problem.isDeleted;
    observe({ kind: 'store-unwritable', ...problem, callCount: governor.inUseCount });
    // Not from within the commit.
    if (stopSignal.aborted) queueMicrotask(() => this.#giveUp());
  }

  #resume(): void {
    const { governor, observe } = this.#options;
    this.#isStoreUnwritable = false;
    this.#isStoreDeleted = false;
    governor.resume();
    observe({ kind: 'store-writable' });
  }

  /** Gives up what the store does not take, after one more attempt. */
  #giveUp(): void {
    this.#hold?.retry();
    if (!this.#isStoreUnwritable) return;
    this.#hasGivenUp = true;
    this.#hold?.giveUp();
  }
}
