import { type ErrorCode, type ErrorDetails, ThriceError } from '@thrice/core';
import { type HeaderLookup, parseRetryAfter } from './parse-reset.ts';

/** An error response, in the terms of the protocol. */
export interface HttpRefusal {
  /** HTTP status; undefined for an error object inside a 200 body. */
  readonly status: number | undefined;
  /** The error object's `code` and `type`. */
  readonly codes: readonly string[];
  readonly message: string;
  readonly header: HeaderLookup;
}

/** The long one is Moonshot's: https://github.com/MoonshotAI/Kimi-K2/issues/5 (2026-11). */
const QUOTA_CODES =
  /^(insufficient_quota|quota_exceeded|exceeded_current_quota_error|billing_hard_limit_reached|billing_not_active|insufficient_balance|credits_exhausted)$/;
const QUOTA_TEXT =
  /\b(exceeded your current quota|credit balance|insufficient (quota|balance|credits))\b/i;
const CONTEXT_CODES = /^(context_length_exceeded|string_above_max_length|request_too_large)$/;
const CONTEXT_TEXT =
  /\b(context (length|window)|maximum context|too many tokens|prompt is too long)\b/i;
const FILTER_CODES = /^(content_filter|content_policy_violation)$/;
const MODEL_CODES = /^(model_not_found|invalid_model|unknown_model)$/;
const AUTH_CODES = /^(invalid_api_key|authentication_error|permission_error)$/;
const LIMIT_CODES = /^(rate_limit_exceeded|rate_limit_error)$/;
const BUSY_CODES = /^(overloaded_error|server_error|api_error)$/;

/**
 * Maps an error response to its error, by status and code. Its text decides only where those are
 * ambiguous.
 *
 * @param nowMs - Now, ms since 1970.
 */
export function mapHttpError(refusal: HttpRefusal, nowMs: number, latencyMs: number): ThriceError {
  const code = decideCode(refusal);
  const waitMs = parseRetryAfter(refusal.header, nowMs);
  const details: ErrorDetails = {
    status: refusal.status,
    latencyMs,
    ...(code === 'quota-exhausted'
      ? { resetAt: waitMs === undefined ? undefined : new Date(nowMs + waitMs).toISOString() }
      : { retryAfterMs: waitMs }),
  };
  const prefix = refusal.status === undefined ? '' : `${refusal.status} `;
  return new ThriceError({ code, message: `${prefix}${refusal.message}`, details });
}

function decideCode(refusal: HttpRefusal): ErrorCode {
  const { status, codes, message } = refusal;
  const says = (pattern: RegExp) => codes.some((code) => pattern.test(code));
  if (status === 402 || says(QUOTA_CODES)) return 'quota-exhausted';
  if (isAboutQuota(status, message)) return 'quota-exhausted';
  if (status === 429) return 'model-rate-limited';
  if (status === 401 || status === 403 || says(AUTH_CODES)) return 'auth-failed';
  if (says(MODEL_CODES)) return 'unknown-model';
  if (status === 404) return /\bmodel\b/i.test(message) ? 'unknown-model' : 'endpoint-unreachable';
  if (status === 413 || says(CONTEXT_CODES)) return 'context-too-long';
  if (says(FILTER_CODES)) return 'content-filtered';
  if (status === 408 || status === 504) return 'model-timeout';
  if (status === 409 || (status !== undefined && status >= 500)) return 'model-unavailable';
  if (status !== undefined && status >= 400) {
    return CONTEXT_TEXT.test(message) ? 'context-too-long' : 'invalid-request';
  }
  if (says(LIMIT_CODES)) return 'model-rate-limited';
  return says(BUSY_CODES) ? 'model-unavailable' : 'unclassified';
}

/**
 * Whether the text says that the quota or the credit is used up, for a status that allows it.
 *
 * Anthropic rejects an account without credit with 400 `invalid_request_error`:
 * https://github.com/anthropics/claude-quickstarts/issues/229 (2026-11).
 */
function isAboutQuota(status: number | undefined, message: string): boolean {
  const isOpen = status === undefined || status === 400 || status === 403 || status === 429;
  return isOpen && QUOTA_TEXT.test(message);
}
