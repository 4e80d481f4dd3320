import { once } from 'node:events';
import type { SimulatorClock } from '@thrice/simulator';

/**
 * The clock of a model server that answers its first calls at once, and holds all others until they are released: what
 * a test does meanwhile finds them in flight, however busy the machine is. The models need a latency.
 */
export class HoldingClock implements SimulatorClock {
  readonly #released = Promise.withResolvers<void>();
  #freeCount: number;

  /** @param freeCount - The calls that are answered at once. */
  constructor(freeCount: number) {
    this.#freeCount = freeCount;
  }

  now(): number {
    return Date.now();
  }

  async sleep(_: number, signal: AbortSignal): Promise<void> {
    this.#freeCount -= 1;
    if (this.#freeCount < 0) await Promise.race([this.#released.promise, once(signal, 'abort')]);
  }

  release(): void {
    this.#released.resolve();
  }
}
