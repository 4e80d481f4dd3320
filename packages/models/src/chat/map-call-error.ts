import { ThriceError, toThriceError } from '@thrice/core';
import OpenAI from 'openai';
import { pickRateLimits } from '../transport/rate-limit-headers.ts';
import { type HttpRefusal, mapHttpError } from '../vendors/map-http-error.ts';

/**
 * Translates what the `openai` package throws for a call, except aborts and timeouts.
 *
 * @param nowMs - The clock's time, ms since 1970, for vendors that name the time of a reset.
 */
export function mapCallError(error: unknown, nowMs: number, latencyMs: number): ThriceError {
  const details = { latencyMs };
  if (error instanceof ThriceError) return withLatency(error, latencyMs);
  if (error instanceof SyntaxError) {
    const message = 'expected JSON, received a body that is cut off or not JSON';
    return new ThriceError({ code: 'truncated-response', message, details, cause: error });
  }
  if (error instanceof OpenAI.APIError && (error.status !== undefined || error.error)) {
    const rateLimits = pickRateLimits(error.headers as Headers | undefined);
    return withRateLimits(mapHttpError(describeRefusal(error), nowMs, latencyMs), rateLimits);
  }
  if (!(error instanceof OpenAI.APIConnectionError) && !isSocketError(error)) {
    return toThriceError(error);
  }
  const message = rootMessage(error);
  return new ThriceError({ code: 'connection-failed', message, details, cause: error });
}

/** Returns the same error with the latency of its call. */
export function withLatency(error: ThriceError, latencyMs: number): ThriceError {
  const { code, message, details, cause } = error;
  return new ThriceError({ code, message, details: { ...details, latencyMs }, cause });
}

function withRateLimits(error: ThriceError, rateLimits: Record<string, string>): ThriceError {
  const { code, message, details, cause } = error;
  return new ThriceError({ code, message, details: { ...details, rateLimits }, cause });
}

function describeRefusal(error: InstanceType<typeof OpenAI.APIError>): HttpRefusal {
  const { code, type, headers } = error as {
    readonly code?: unknown;
    readonly type?: unknown;
    readonly headers?: Headers;
  };
  const httpStatus = error.status as number | undefined;
  return {
    // An error in the body of a successful response may have its status as a number in `code`.
    status: httpStatus ?? (typeof code === 'number' ? code : undefined),
    codes: [code, type].filter((name) => typeof name === 'string'),
    // The package puts the HTTP status in front of the message.
    message: httpStatus === undefined ? error.message : error.message.replace(/^\d{3} /, ''),
    header: (name) => headers?.get(name) ?? null,
  };
}

/** The socket or the pool reports a broken stream with an error of its own. */
function isSocketError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}

function rootMessage(error: unknown): string {
  let root = error;
  while (root instanceof Error && root.cause !== undefined) root = root.cause;
  if (!(root instanceof Error)) return String(root);
  const code = 'code' in root && typeof root.code === 'string' ? ` (${root.code})` : '';
  return `${root.message}${code}`;
}
