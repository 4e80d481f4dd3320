import { assertNever, type ThriceError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Random } from '../ports/random.ts';
import { retryDelayMs } from './backoff.ts';

/** What happens to a cell whose call failed. */
export type RetryDecision =
  /** Another attempt within this delivery. */
  | { readonly kind: 'retry'; readonly waitMs: number }
  /** Back to the queue, so that another cell can use the permit. */
  | { readonly kind: 'release'; readonly delayMs: number }
  /** Back to the queue for as long as the governor says; does not count as an attempt. */
  | { readonly kind: 'slow-down' }
  /** Back to the queue untouched: the breaker of the lane or the model is open. */
  | { readonly kind: 'blocked' }
  /** The cell has failed. */
  | { readonly kind: 'fail' }
  /** Back to the queue at once: this worker is stopping, or another one has the cell. */
  | { readonly kind: 'abandon' }
  /** A bug: the task is not acknowledged. */
  | { readonly kind: 'raise' };

/**
 * Decides by the class of the error what happens to a cell whose call failed. There is no other retry policy.
 *
 * @param attempts - Failed attempts of the step so far, with this one if it counts.
 */
export function decideRetry(
  error: ThriceError,
  {
    attempts,
    maxAttempts,
    isLaneOut,
    random,
  }: {
    readonly attempts: number;
    readonly maxAttempts: number;
    /** The failure belongs to an outage of the lane. */
    readonly isLaneOut: boolean;
    readonly random: Random;
  },
): RetryDecision {
  switch (error.class) {
    case 'transient':
      if (attempts >= maxAttempts) return { kind: 'fail' };
      if (isLaneOut) return { kind: 'blocked' };
      return retryOrRelease(
        Math.max(error.details.retryAfterMs ?? 0, retryDelayMs(Math.max(1, attempts), random)),
      );
    case 'rate-limited':
      return { kind: 'slow-down' };
    case 'exhausted':
    case 'misconfigured':
      return { kind: 'blocked' };
    case 'rejected':
    case 'input':
    case 'user-code':
      return { kind: 'fail' };
    case 'conflict':
      return { kind: 'abandon' };
    case 'internal':
      return attempts >= maxAttempts ? { kind: 'fail' } : { kind: 'raise' };
    default:
      return assertNever(error.class);
  }
}

const ABOUT_MODEL: ReadonlySet<ThriceError['code']> = new Set([
  'unknown-model',
  'wrong-served-model',
  'structured-output-refused',
]);

/** Whose breaker an error opens: the lane's, that of one model on it, or none. */
export function breakerScopeOf(error: ThriceError): 'lane' | 'model' | undefined {
  if (error.class !== 'exhausted' && error.class !== 'misconfigured') return undefined;
  if (error.details.breakerScope !== undefined) return error.details.breakerScope;
  return ABOUT_MODEL.has(error.code) ? 'model' : 'lane';
}

function retryOrRelease(delayMs: number): RetryDecision {
  return delayMs <= limits.inDeliveryWaitMs
    ? { kind: 'retry', waitMs: delayMs }
    : { kind: 'release', delayMs };
}
