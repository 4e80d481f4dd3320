import { setTimeout as sleepMs } from 'node:timers/promises';

/** The simulator's only source of time, replaceable in tests. */
export interface SimulatorClock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /**
   * Waits.
   *
   * @param ms - Duration in milliseconds, >= 0.
   * @param signal - Ends the wait early. The promise may then either resolve or reject.
   */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** The clock of the operating system. */
export const systemClock: SimulatorClock = {
  now: () => Date.now(),
  sleep: async (ms, signal) => {
    await sleepMs(ms, undefined, { signal });
  },
};
