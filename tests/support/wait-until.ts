import { setTimeout as pause } from 'node:timers/promises';
import type { Outcome, RunningThrice } from './run-thrice.ts';

/** Often enough to see a state pass, and seldom enough to leave the processor to what is awaited. */
const POLL_MS = 5;

/**
 * Polls until a condition holds, for processes that do not report their progress.
 *
 * @param what - The awaited condition, for the error message.
 * @param maxPolls - Polls before it throws, at least 5 ms apart: 10 minutes, which only what never ends exceeds.
 */
export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  maxPolls = 120_000,
): Promise<void> {
  for (let poll = 0; poll < maxPolls; poll += 1) {
    if (await condition()) return;
    await pause(POLL_MS);
  }
  throw new Error(`timed out waiting until ${what}`);
}

/**
 * Waits for a promise with a timeout.
 *
 * @param what - What the promise stands for, for the error message.
 */
export async function within<T>(seconds: number, what: string, promise: Promise<T>): Promise<T> {
  const settled = new AbortController();
  const timeout = pause(seconds * 1000, undefined, { signal: settled.signal }).then(() => {
    throw new Error(`timed out after ${seconds} s waiting for ${what}`);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    settled.abort();
    await timeout.catch(() => undefined);
  }
}

/**
 * Polls until a condition holds, or throws as soon as one of the processes has exited.
 *
 * @param what - The awaited condition, for the error message.
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
    throw new Error(`exited before ${what}: ${ended.child.exitCode} ${ended.stderr}`);
  });
}

/** Waits for a command to end, bounded for a command that never does: a busy machine may need minutes. */
export async function endOf(thrice: RunningThrice): Promise<Outcome> {
  return await within(600, 'the end of the command', thrice.ended);
}
