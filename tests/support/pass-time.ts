import type { LocalEngine } from '@thrice/local';
import type { FakeClock } from './fake-clock.ts';
import { settledBy } from './settled-by.ts';

/** Longest jump of the clock, ms. */
const MAX_ADVANCE_MS = 250;

/** Work on an engine of its own. */
interface Working<T> {
  readonly real: LocalEngine;
  readonly end: Promise<T>;
}

/** Advances the clock whenever no process has anything else to do, until all have ended or died. */
export async function passTime<T>(
  workers: readonly Working<T>[],
  clock: FakeClock,
): Promise<readonly T[]> {
  const all = Promise.all(workers.map(({ end }) => end));
  while (!(await settledBy(all))) {
    // Sending nothing commits what the process has written so far.
    await Promise.all(workers.map(({ real }) => real.queueOf('none').send('lab', [])));
    clock.advance(Math.ceil(Math.min(clock.nextDueInMs ?? 0, MAX_ADVANCE_MS)));
  }
  return await all;
}
