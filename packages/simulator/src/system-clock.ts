import { setTimeout as sleepMs } from 'node:timers/promises';

/** The simulator's only source of time, so that tests can replace it. */
export interface SimulatorClock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /**
   * Waits.
   *
   * @param ms - How long, milliseconds, >= 0.
   * @param signal - Ends the wait early; whether the promise then resolves or rejects is free.
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
