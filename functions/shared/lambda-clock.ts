import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '@thrice/core';

/** The machine's clock and timers. */
export const lambdaClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  toIso: (atMs) => new Date(atMs).toISOString(),
  sleep: async (delayMs, signal) => {
    await wait(delayMs, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  },
};
