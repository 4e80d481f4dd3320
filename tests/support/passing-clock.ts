import { FakeClock } from './fake-clock.ts';

/** A clock on which every sleep is over at once, and has taken its time. */
export class PassingClock extends FakeClock {
  /** Every sleep asked for, ms. */
  readonly sleptMs: number[] = [];
  /** Runs when a sleep begins. */
  onSleep: () => void = () => undefined;

  override async sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    this.sleptMs.push(delayMs);
    this.onSleep();
    if (signal?.aborted !== true) this.advance(delayMs);
  }
}
