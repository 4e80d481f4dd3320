import {
  BATCH_TIER,
  type BatchedResponse,
  type BatchResult,
  type Lane,
  ThriceError,
} from '@thrice/core';
import { APIError } from 'openai/core/error';
import { findMissingAnswer } from '../call/find-missing-answer.ts';
import { fieldOf } from '../call/json-value.ts';
import { mapApiError, withDetails } from '../call/map-call-error.ts';
import type { WireProtocol } from '../call/wire-protocol.ts';

/** What the lines of results are read with. */
export interface ResultContext {
  readonly protocol: WireProtocol;
  readonly lane: Lane;
  readonly endpoint: string;
  readonly nowMs: number;
}

/** The result of a request that was answered with this body. */
export function answered(customId: string, raw: unknown, context: ResultContext): BatchResult {
  return { customId, kind: 'answered', response: readBatched(raw, context) };
}

/** The result of a request that was refused with this body. */
export function refused(
  customId: string,
  { status, body }: { readonly status: number | undefined; readonly body: unknown },
  { nowMs }: Pick<ResultContext, 'nowMs'>,
): BatchResult {
  return { customId, kind: 'refused', error: mapRefusal(status, body, nowMs) };
}

/** Translates an error of a batch. How long it took is not known. */
export function mapRefusal(status: number | undefined, body: unknown, nowMs: number): ThriceError {
  const error = new APIError(status, (body ?? {}) as object, undefined, undefined);
  const mapped = mapApiError(error, { nowMs, latencyMs: 0, rateLimits: {} });
  return withDetails(mapped, { latencyMs: undefined, rateLimits: undefined });
}

function readBatched(raw: unknown, context: ResultContext): BatchedResponse {
  const { protocol, lane, endpoint, nowMs } = context;
  const { problem, ...answer } = protocol.readAnswer(raw, { lane, nowMs });
  const failure = problem ?? findMissingAnswer(answer);
  const fault = failure instanceof APIError ? mapRefusal(undefined, failure.error, nowMs) : failure;
  const usage = { ...answer.usage, serviceTier: BATCH_TIER };
  return { endpoint, ...answer, usage, raw, fault };
}

/** Names that are safe within a path. */
const SAFE_NAME = /^\w[\w.:=~+-]{0,1023}$/;

/** Whether a vendor's name can be a part of a path. */
export function isSafeName(name: unknown): name is string {
  return typeof name === 'string' && SAFE_NAME.test(name);
}

/** Reads the vendor's name of what a document is about. */
export function readName(raw: unknown): string {
  const id = fieldOf(raw, 'id');
  if (!isSafeName(id)) throw unreadableBatch();
  return id;
}

/** The error of a document about a batch that says nothing of it. */
export function unreadableBatch(): ThriceError {
  return new ThriceError({
    code: 'truncated-response',
    message: 'expected a batch with its name and status, received another body',
  });
}

/** The error of asking for results too early. */
export function notEnded(): ThriceError {
  return new ThriceError({
    code: 'invalid-request',
    message: 'expected a batch that has ended, received one that has not',
  });
}

/** The error of asking for results that the vendor keeps no longer. */
export function resultsGone(): ThriceError {
  const message = 'the vendor does not keep the results of the batch any more';
  return new ThriceError({ code: 'unknown-response', message });
}

/** Says of a server that does not know the path of a submission what it lacks. */
export function explainNotFound(error: ThriceError): ThriceError {
  const { code, message, details } = error;
  if (code !== 'endpoint-unreachable' || details.status !== 404) return error;
  return new ThriceError({
    code,
    message: `${message}; no batch interface is there: correct base_url, or leave batch out`,
    details,
  });
}
