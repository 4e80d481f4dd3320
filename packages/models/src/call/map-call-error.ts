import { type ErrorDetails, type RateLimitHeaders, ThriceError } from '@thrice/core';
import type { APIError } from 'openai/core/error';
import { type HttpRefusal, mapHttpError } from '../vendors/map-http-error.ts';

/** What an error of a call is described with. */
export interface CallErrorContext {
  /** The clock's time, ms since 1970, for vendors that name the time of a reset. */
  readonly nowMs: number;
  readonly latencyMs: number;
  /** The rate-limit headers of the response. */
  readonly rateLimits: RateLimitHeaders;
}

/** Translates an error object: of a response that refuses by its status, or inside a successful one. */
export function mapApiError(error: APIError, context: CallErrorContext): ThriceError {
  const { nowMs, latencyMs, rateLimits } = context;
  const refusal: HttpRefusal = {
    status: error.status,
    body: error.error,
    header: (name) => rateLimits[name] ?? null,
  };
  const { code, message, details } = mapHttpError(refusal, nowMs, latencyMs);
  return new ThriceError({ code, message, details: { ...details, rateLimits } });
}

/** Returns the same error with more details. */
export function withDetails(error: ThriceError, added: ErrorDetails): ThriceError {
  const { code, message, details, cause } = error;
  return new ThriceError({ code, message, details: { ...details, ...added }, cause });
}
