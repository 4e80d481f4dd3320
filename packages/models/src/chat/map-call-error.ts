import { ThriceError, toThriceError } from '@thrice/core';
import OpenAI from 'openai';
import { pickRateLimits } from '../transport/rate-limit-headers.ts';
import { type HttpRefusal, mapHttpError } from '../vendors/map-http-error.ts';

/**
 * Translates what the `openai` package throws for a call, aborts and timeouts aside.
 *
 * @param nowMs - The clock's time, ms since 1970: some vendors name the time of a reset.
 */
export function mapCallError(error: unknown, nowMs: number, latencyMs: number): ThriceError {
  const details = { latencyMs };
  if (error instanceof ThriceError) return withLatency(error, latencyMs);
  if (error instanceof SyntaxError) {
    const message = 'the body is not whole JSON';
    return new ThriceError({ code: 'truncated-response', message, details, cause: error });
  }
  if (error instanceof OpenAI.APIError && error.status !== undefined) {
    const rateLimits = pickRateLimits(error.headers as Headers | undefined);
    return withRateLimits(mapHttpError(describeRefusal(error), nowMs, latencyMs), rateLimits);
  }
  if (error instanceof OpenAI.APIError && error.error)
    return withLatency(mapBodyError(error.error), latencyMs);
  if (!(error instanceof OpenAI.APIConnectionError) && !isSocketError(error)) {
    return toThriceError(error);
  }
  const message = rootMessage(error);
  return new ThriceError({ code: 'connection-failed', message, details, cause: error });
}

/** Translates an error object in a body, whatever the status. */
export function mapBodyError(error: {
  readonly code?: string | number | null | undefined;
  readonly type?: string | null | undefined;
  readonly message?: string | null | undefined;
}): ThriceError {
  const { code, type, message } = error;
  const status = typeof code === 'number' ? code : undefined;
  const refusal = {
    status,
    codes: [String(code ?? ''), type ?? ''],
    message: message ?? 'error without a message',
    header: () => null,
  };
  return mapHttpError(refusal, 0, 0);
}

/** The same error with the time its call took. */
export function withLatency(error: ThriceError, latencyMs: number): ThriceError {
  const { code, message, details, cause } = error;
  return new ThriceError({ code, message, details: { ...details, latencyMs }, cause });
}

function withRateLimits(error: ThriceError, rateLimits: Record<string, string>): ThriceError {
  const { code, message, details, cause } = error;
  return new ThriceError({ code, message, details: { ...details, rateLimits }, cause });
}

function describeRefusal(error: InstanceType<typeof OpenAI.APIError>): HttpRefusal {
  return {
    status: error.status as number | undefined,
    codes: [error.code, error.type].filter((code) => typeof code === 'string'),
    message: error.message.replace(/^\d{3} /, ''),
    header: (name) => (error.headers as Headers | undefined)?.get(name) ?? null,
  };
}

/** A stream that breaks off is reported as the socket's or the pool's own error. */
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
