import { type RateLimitHeaders, ThriceError } from '@thrice/core';
import { APIError } from 'openai/core/error';
import type { CallTimeout } from '../transport/call-timeout.ts';
import { type HttpResponse, readText } from '../transport/http-transport.ts';
import type { Redact } from '../transport/redact.ts';
import { refuseDetour } from '../transport/refuse-detour.ts';
import type { EndpointOutcome } from './endpoint-pool.ts';
import { mapApiError, withDetails } from './map-call-error.ts';
import { parseJson } from './parse-json.ts';

/** What a failure is translated with. */
export interface FailedRequest {
  readonly redact: Redact | undefined;
  /** The caller's. */
  readonly signal: AbortSignal;
  readonly timeout: CallTimeout;
  readonly timeoutMs: number;
  /** By `performance.now()`. */
  readonly startedMs: number;
}

/** Translates what went wrong with a call, with its latency and without the lane's key. */
export function mapFailure(
  error: ThriceError | APIError,
  call: FailedRequest,
  { nowMs, rateLimits }: { readonly nowMs: number; readonly rateLimits: RateLimitHeaders },
): ThriceError {
  const { redact, signal, timeout, timeoutMs, startedMs } = call;
  const latencyMs = performance.now() - startedMs;
  if (error instanceof APIError) {
    return redactError(mapApiError(error, { nowMs, latencyMs, rateLimits }), redact);
  }
  if (isBrokenOff(error) && signal.aborted) return interrupted(signal);
  if (isBrokenOff(error) && timeout.isOver) return timedOut(timeoutMs, latencyMs, error);
  return redactError(withDetails(error, { latencyMs }), redact);
}

/** The error of a call that its caller has stopped. */
export function interrupted({ reason }: AbortSignal): ThriceError {
  if (reason instanceof ThriceError) return reason;
  return new ThriceError({
    code: 'interrupted',
    message: 'the call was stopped',
    cause: reason,
  });
}

/** The longest body of a refusal that is read: it explains one error. */
const MAX_REFUSAL_BYTES = 1024 * 1024;

/** Reads a response that refuses by its status, whatever its body is, or that the API has not sent. */
export async function readRefusal(
  response: HttpResponse,
  url: string,
): Promise<ThriceError | APIError> {
  const { text } = await readText(response, MAX_REFUSAL_BYTES);
  const detour = refuseDetour(response, url);
  if (detour !== undefined) return detour;
  const refused = (parseJson(text) ?? text) as object;
  return new APIError(response.status, refused, undefined, undefined);
}

/** What the end of a call says about its endpoint; undefined is an answer. */
export function outcomeOf(error: ThriceError | undefined): EndpointOutcome {
  if (error?.class === 'conflict' || error?.class === 'internal') return 'unknown';
  switch (error?.code) {
    case 'connection-failed':
      return 'unreachable';
    case 'model-unavailable':
    case 'model-timeout':
      return 'failing';
    default:
      return 'responded';
  }
}

/** Whether the connection ended first; a call that is stopped ends its connection. */
function isBrokenOff(failure: ThriceError | APIError | undefined): boolean {
  return failure instanceof ThriceError && failure.code === 'connection-failed';
}

function timedOut(timeoutMs: number, latencyMs: number, cause: unknown): ThriceError {
  const message = `no answer within ${timeoutMs / 1000} s`;
  return new ThriceError({ code: 'model-timeout', message, details: { latencyMs }, cause });
}

function redactError(error: ThriceError, redact: Redact | undefined): ThriceError {
  const message = redact?.(error.message) ?? error.message;
  if (message === error.message) return error;
  return new ThriceError({ code: error.code, message, details: error.details });
}
