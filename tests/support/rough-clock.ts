import { FakeClock } from './fake-clock.ts';

/**
 * A fake clock whose timers are as rough as a machine's: they fire up to so many ms before or after the
 * clock says that their time has come. Node's count from the loop's cached time, and a busy loop is late.
 */
export class RoughClock extends FakeClock {
  readonly #driftMs: () => number;

  /** @param driftMs - Drawn for each sleep; negative fires early. */
  constructor(driftMs: () => number) {
    super();
    this.#driftMs = driftMs;
  }

  override sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return super.sleep(Math.max(0, delayMs + this.#driftMs()), signal);
  }
}
