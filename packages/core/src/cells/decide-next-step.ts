import { assertNever, type ThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Random } from '../ports/random.ts';
import { backoffMs } from './backoff.ts';

/** What becomes of a cell whose call failed. */
export type NextStep =
  /** Try again inside this attempt. */
  | { readonly kind: 'retry'; readonly waitMs: number }
  /** Back to the queue; another cell can use the slot. */
  | { readonly kind: 'release'; readonly delayMs: number }
  /** Back to the queue, and the lane is slower for everybody; not an attempt. */
  | { readonly kind: 'slow-down'; readonly retryAfterMs: number | undefined }
  /** Back to the queue untouched, and the lane (or just this model of it) takes no more calls. */
  | { readonly kind: 'open-breaker'; readonly scope: 'lane' | 'model' }
  /** The end: recorded as failed. */
  | { readonly kind: 'fail' }
  /** Back to the queue at once: we are stopping, or someone else has the cell. */
  | { readonly kind: 'abandon' }
  /** Our own bug: nothing is acknowledged. */
  | { readonly kind: 'raise' };

/**
 * The one retry policy, by error class.
 *
 * @param attempts - Failed attempts of the cell so far, this one included where it is one.
 */
export function decideNextStep(
  error: ThriceError,
  {
    attempts,
    maxAttempts,
    random,
  }: {
    readonly attempts: number;
    readonly maxAttempts: number;
    readonly random: Random;
  },
): NextStep {
  const asked = error.details.retryAfterMs;
  switch (error.class) {
    case 'transient':
      if (attempts >= maxAttempts) return { kind: 'fail' };
      return waitOrRelease(Math.max(asked ?? 0, backoff(attempts, random)));
    case 'rate-limited':
      return { kind: 'slow-down', retryAfterMs: asked };
    case 'exhausted':
      return { kind: 'open-breaker', scope: 'lane' };
    case 'misconfigured':
      return { kind: 'open-breaker', scope: isAboutModel(error) ? 'model' : 'lane' };
    case 'rejected':
    case 'input':
      return { kind: 'fail' };
    case 'conflict':
      return { kind: 'abandon' };
    case 'internal':
      return attempts >= maxAttempts ? { kind: 'fail' } : { kind: 'raise' };
    default:
      return assertNever(error.class);
  }
}

function isAboutModel(error: ThriceError): boolean {
  return error.code === 'unknown-model' || error.code === 'wrong-served-model';
}

function waitOrRelease(delayMs: number): NextStep {
  return delayMs <= limits.inDeliveryWaitMs
    ? { kind: 'retry', waitMs: delayMs }
    : { kind: 'release', delayMs };
}

function backoff(failureCount: number, random: Random): number {
  return backoffMs(failureCount, {
    baseMs: limits.backoffBaseMs,
    capMs: limits.backoffCapMs,
    random,
  });
}
