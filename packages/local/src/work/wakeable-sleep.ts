import type { Clock } from '@thrice/core';

/**
 * The sleep of a loop that has nothing to do until something happens.
 *
 * awake --sleep--> asleep --wake, or the time is over--> awake
 * awake --wake--> woken --sleep, which ends at once--> awake
 *
 * No wake-up can be missed: what has happened since the last sleep ends the next one. One loop sleeps at a time.
 */
export class WakeableSleep {
  readonly #clock: Clock;
  /** Something has happened that the loop has not looked at yet. */
  #isWoken = false;
  #endSleep: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Tells the loop that something has happened. */
  wake(): void {
    this.#isWoken = true;
    this.#endSleep?.();
    // Once is enough: each abort costs as much as a statement.
    this.#endSleep = undefined;
  }

  /** Sleeps until something happens, so many ms at most. */
  async sleep(ms: number): Promise<void> {
    const woken = new AbortController();
    this.#endSleep = () => woken.abort();
    if (!this.#isWoken) await this.#clock.sleep(ms, woken.signal);
    this.#endSleep = undefined;
    this.#isWoken = false;
  }
}
