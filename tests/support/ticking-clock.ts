import { RoughClock } from './rough-clock.ts';

/** A rough clock that also advances when it is read, as a real one may between two statements. */
export class TickingClock extends RoughClock {
  readonly #tickMs: () => number;

  /** @param tickMs - Called for each reading: how far time has passed since the one before, ms >= 0. */
  constructor(driftMs: () => number, tickMs: () => number) {
    super(driftMs);
    this.#tickMs = tickMs;
  }

  override monotonicMs(): number {
    this.advance(this.#tickMs());
    return super.monotonicMs();
  }
}
