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
  const refusal = describeRefusal(error, rateLimits);
  const { code, message, details } = mapHttpError(refusal, nowMs, latencyMs);
  return new ThriceError({ code, message, details: { ...details, rateLimits } });
}

/** Returns the same error with more details. */
export function withDetails(error: ThriceError, added: ErrorDetails): ThriceError {
  const { code, message, details, cause } = error;
  return new ThriceError({ code, message, details: { ...details, ...added }, cause });
}

function describeRefusal(error: APIError, rateLimits: RateLimitHeaders): HttpRefusal {
  // Typed as the vendor documents them; any server may send anything.
  const [code, type] = [error.code, error.type] as readonly unknown[];
  return {
    status: error.status ?? statusIn(code),
    codes: [code, type].filter((name) => typeof name === 'string'),
    // The package puts the HTTP status in front of the message.
    message: error.status === undefined ? error.message : error.message.replace(/^\d{3} /, ''),
    header: (name) => rateLimits[name] ?? null,
  };
}

/** An error object inside a successful response may have its status as a number in `code`. */
function statusIn(code: unknown): number | undefined {
  return typeof code === 'number' && code >= 400 && code < 600 ? code : undefined;
}
