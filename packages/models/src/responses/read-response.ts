import { type FinishReason, ThriceError, type Usage } from '@thrice/core';
import { APIError } from 'openai/core/error';
import { NO_TOKENS, readCount, readServedModel, readServiceTier } from '../call/body-fields.ts';
import { fieldOf, isRecord } from '../call/json-value.ts';
import type { AnswerContext, ReadAnswer } from '../call/wire-protocol.ts';
import { mapLimitText } from '../vendors/map-limit-text.ts';
import { findError } from '../vendors/read-error.ts';
import { mapItems, responseItemsSchema } from './response-items.ts';

/** Reads the body of a successful response, whatever it is. Never throws. */
export function readResponse(raw: unknown, { nowMs }: Pick<AnswerContext, 'nowMs'>): ReadAnswer {
  const { data: items } = responseItemsSchema.safeParse(fieldOf(raw, 'output'));
  const output = mapItems(items ?? []);
  const rawFinishReason = readEnd(raw);
  return {
    servedModel: readServedModel(raw),
    output,
    finishReason: mapEnd(rawFinishReason, output.toolCalls.length > 0),
    rawFinishReason,
    usage: readResponseUsage(raw),
    problem: findProblem(raw, items !== undefined, output.text, nowMs),
  };
}

/** The status of a response, or why it is incomplete; null if it says neither. */
function readEnd(raw: unknown): string | null {
  const reason = fieldOf(fieldOf(raw, 'incomplete_details'), 'reason');
  if (typeof reason === 'string') return reason;
  const status = fieldOf(raw, 'status');
  return typeof status === 'string' ? status : null;
}

function mapEnd(end: string | null, hasToolCalls: boolean): FinishReason | null {
  switch (end) {
    case null:
      return null;
    case 'completed':
      return hasToolCalls ? 'tool-calls' : 'stop';
    case 'max_output_tokens':
      return 'length';
    case 'content_filter':
      return 'content-filter';
    default:
      return 'other';
  }
}

/** @see `ResponseUsage` in the types of `openai` 7.55.0 (2026-11) */
function readResponseUsage(raw: unknown): Usage {
  const usage = fieldOf(raw, 'usage');
  if (!isRecord(usage) && findError(raw) !== undefined && !Array.isArray(fieldOf(raw, 'output'))) {
    return NO_TOKENS;
  }
  const input = fieldOf(usage, 'input_tokens_details');
  const writes = fieldOf(input, 'cache_write_tokens_details');
  return {
    inputTokens: readCount(fieldOf(usage, 'input_tokens')),
    cachedInputTokens: readCount(fieldOf(input, 'cached_tokens')),
    cacheWriteTokens: readCount(fieldOf(input, 'cache_write_tokens')),
    longCacheWriteTokens: readCount(fieldOf(writes, 'ttl_12h_tokens')),
    outputTokens: readCount(fieldOf(usage, 'output_tokens')),
    reasoningTokens: readCount(
      fieldOf(fieldOf(usage, 'output_tokens_details'), 'reasoning_tokens'),
    ),
    serviceTier: readServiceTier(fieldOf(raw, 'service_tier')),
  };
}

function findProblem(
  raw: unknown,
  isResponse: boolean,
  text: string | null,
  nowMs: number,
): ReadAnswer['problem'] {
  const error = findError(raw);
  if (error !== undefined) return new APIError(undefined, { error }, undefined, undefined);
  const status = fieldOf(raw, 'status');
  if (status === 'failed' || status === 'cancelled') {
    return new ThriceError({ code: 'model-unavailable', message: `the response is ${status}` });
  }
  const isEnded = status !== 'queued' && status !== 'in_progress';
  if (isResponse && isEnded) return text === null ? undefined : mapLimitText(text, nowMs);
  return new ThriceError({
    code: 'truncated-response',
    message: 'expected a response with its output, received another body',
  });
}
