import { FakeClock } from './fake-clock.ts';

/**
 * A fake clock whose timers are as imprecise as real ones: they fire a few milliseconds early or late.
 * Node's timers start from the event loop's cached time, and a busy loop fires them late.
 */
export class RoughClock extends FakeClock {
  readonly #driftMs: () => number;

  /** @param driftMs - Called for each sleep; a negative value fires early. */
  constructor(driftMs: () => number) {
    super();
    this.#driftMs = driftMs;
  }

  override sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    return super.sleep(Math.max(0, delayMs + this.#driftMs()), signal);
  }
}
