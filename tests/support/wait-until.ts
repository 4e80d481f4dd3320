import { setTimeout as pause } from 'node:timers/promises';
import type { Outcome, RunningThrice } from './run-thrice.ts';

/** Often enough to see a state pass, and seldom enough to leave the processor to what is awaited. */
const POLL_MS = 5;
/** The same for a state that stays, and that it takes requests or a command to see. */
const REQUEST_POLL_MS = 200;
/** Only what never ends takes as long. */
const LIMIT_MS = 600_000;

/**
 * Polls until a condition holds, for processes that do not report their progress.
 *
 * @param what - The awaited condition, for the error message.
 * @param pollMs - Between two polls, at least.
 */
export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  pollMs = POLL_MS,
): Promise<void> {
  const startedAtMs = performance.now();
  while (performance.now() - startedAtMs < LIMIT_MS) {
    if (await condition()) return;
    await pause(pollMs);
  }
  throw new Error(`timed out waiting until ${what}`);
}

/** Polls until a condition holds that it takes requests or a command to see. */
export async function waitUntilShown(
  what: string,
  condition: () => Promise<boolean>,
): Promise<void> {
  await waitUntil(what, condition, REQUEST_POLL_MS);
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
