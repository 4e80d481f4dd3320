import { limits } from '../limits.ts';
import type { Random } from '../ports/random.ts';

/**
 * Exponential backoff with equal jitter: half of the delay is certain, half is drawn.
 *
 * Jitter spreads the retries of cells that failed at the same time.
 *
 * @param failureCount - Failures so far, integer >= 1.
 * @param baseMs - Delay after the first failure before jitter, > 0.
 * @param capMs - Largest delay before jitter, >= `baseMs`.
 * @returns Milliseconds in `[delay / 2, delay)`.
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function backoffMs(
  failureCount: number,
  {
    baseMs,
    capMs,
    random,
  }: { readonly baseMs: number; readonly capMs: number; readonly random: Random },
): number {
  const delayMs = Math.min(capMs, baseMs * 2 ** Math.min(failureCount - 1, 30));
  return delayMs / 2 + (delayMs / 2) * random();
}

/** {@link backoffMs} between two attempts at a call, or at recording one. */
export function retryDelayMs(failureCount: number, random: Random): number {
  const { backoffBaseMs: baseMs, backoffCapMs: capMs } = limits;
  return backoffMs(failureCount, { baseMs, capMs, random });
}
