import { breakerScopeOf } from '../cells/decide-retry.ts';
import { modelRefOf } from '../domain/breaker.ts';
import type { JournalEntry } from '../domain/call.ts';
import type { ThriceError } from '../errors.ts';
import type { LaneDiagnosis } from '../lanes/lane-health.ts';
import type { CallEnd } from '../ports/governor.ts';
import type { StepRequest } from '../ports/solver.ts';
import type { BudgetRefusal } from './call-budget.ts';

/** What became of a call. */
export type CallOutcome =
  /** It answers its step. */
  | { readonly kind: 'recorded'; readonly entry: JournalEntry }
  | { readonly kind: 'failed'; readonly call: FailedCall }
  /** The vendor prepares the response: to be asked for after a while. */
  | {
      readonly kind: 'pending';
      readonly delayMs: number;
      /** It waits for batches: whoever ends them has its task delivered. @default false */
      readonly isBatched?: true;
    }
  /** Not sent, for now: what calls in flight leave of the budget may be enough, or nobody could ask. */
  | { readonly kind: 'budget-short'; readonly isStoreBusy: boolean }
  /** Not sent. */
  | { readonly kind: 'budget-refused'; readonly refusal: BudgetRefusal };

/** A call that gave no usable answer. */
export interface FailedCall {
  readonly error: ThriceError;
  /** How long the governor wants the cell to wait; only for a rate limit. */
  readonly delayMs: number;
  /** What it says about the lane's servers; undefined where none was asked, or where one has answered. */
  readonly diagnosis?: LaneDiagnosis;
  /** A response in the background could not be asked for, and is still expected: no attempt. @default false */
  readonly isExpected?: boolean;
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

/** The outcome of a failed call. */
export function toOutcome(call: FailedCall): CallOutcome {
  return { kind: 'failed', call };
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
