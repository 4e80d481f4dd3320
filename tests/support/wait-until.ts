import { setTimeout as pause } from 'node:timers/promises';
import type { Outcome, RunningThrice } from './run-thrice.ts';

const LOOK_MS = 1;

/**
 * Looks again and again until a condition holds: processes tell no one when they get somewhere.
 *
 * @param what - What is waited for, for the error.
 * @param lookCount - Looks before it gives up, a millisecond or more apart.
 */
export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  lookCount = 30_000,
): Promise<void> {
  for (let look = 0; look < lookCount; look += 1) {
    if (await condition()) return;
    await pause(LOOK_MS);
  }
  throw new Error(`waited in vain until ${what}`);
}

/**
 * Waits for a promise, but not for ever.
 *
 * @param what - What is waited for, for the error.
 */
export async function within<T>(seconds: number, what: string, promise: Promise<T>): Promise<T> {
  const settled = new AbortController();
  const late = pause(seconds * 1000, undefined, { signal: settled.signal }).then(() => {
    throw new Error(`waited ${seconds} s in vain for ${what}`);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    settled.abort();
    await late.catch(() => undefined);
  }
}

/**
 * Looks until a condition holds, or fails as soon as one of the processes has ended.
 *
 * @param what - What is waited for, for the error.
 */
export async function waitWhileRunning(
  what: string,
  processes: readonly RunningThrice[],
  condition: () => boolean,
): Promise<void> {
  await waitUntil(what, () => {
    if (condition()) return true;
    const ended = processes.find(({ child }) => child.exitCode !== null);
    if (ended === undefined) return false;
    throw new Error(`ended before ${what}: ${ended.child.exitCode} ${ended.stderr}`);
  });
}

/** The end of a command, in far less than a lease: whoever waits for one is too late. */
export async function endOf(thrice: RunningThrice): Promise<Outcome> {
  return await within(40, 'the end of the command', thrice.ended);
}
