import { modelRefOf } from '../domain/breaker.ts';
import type { ThriceError } from '../errors.ts';
import type { CallEnd } from '../ports/governor.ts';
import type { StepRequest } from '../ports/solver.ts';
import { breakerScopeOf } from './decide-retry.ts';
import type { LaneDiagnosis } from './lane-health.ts';

/** A call that gave no usable answer. */
export interface FailedCall {
  readonly error: ThriceError;
  /** How long the governor wants the cell to wait; only for a rate limit. */
  readonly delayMs: number;
  /** What it says about the lane's servers; undefined where none was asked, or where one has answered. */
  readonly diagnosis?: LaneDiagnosis;
}

/** What the end of a failed call means for its permit. */
export function endOf({ class: errorClass, message, details }: ThriceError): CallEnd {
  if (errorClass !== 'rate-limited') return { kind: 'failed' };
  const { retryAfterMs, rateLimits = {} } = details;
  return { kind: 'refused', retryAfterMs, rateLimits, reason: message };
}

/** A failed call whose cell need not wait. */
export function failed(error: ThriceError): FailedCall {
  return { error, delayMs: 0 };
}

/** Whether a failure counts as an attempt. One of its lane, or of the lease, says nothing about the cell. */
export function isAttempt({ class: errorClass }: ThriceError): boolean {
  return ['transient', 'internal', 'rejected', 'input'].includes(errorClass);
}

/** The key of the breaker that an error opens, if it opens one. */
export function breakerKeyOf(
  error: ThriceError,
  target: Pick<StepRequest, 'lane' | 'model'>,
): string | undefined {
  const scope = breakerScopeOf(error);
  if (scope === undefined) return undefined;
  return scope === 'lane' ? target.lane : modelRefOf(target);
}

/** A failure that uses up no attempt, because the response that was asked about is still expected. */
export function asNoAttempt({ diagnosis, ...call }: FailedCall): FailedCall {
  const isAttempt = { isAttempt: false, isSuspect: false };
  const outage = { outage: diagnosis?.outage, isOpening: diagnosis?.isOpening === true };
  return { ...call, diagnosis: { ...outage, ...isAttempt } };
}
