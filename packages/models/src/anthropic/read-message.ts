import { type FinishReason, type ModelOutput, ThriceError, type Usage } from '@thrice/core';
import { APIError } from 'openai/core/error';
import * as z from 'zod';
import {
  emptyToNull,
  NO_TOKENS,
  readCount,
  readServedModel,
  readServiceTier,
} from '../call/body-fields.ts';
import { fieldOf, isRecord } from '../call/json-value.ts';
import type { AnswerContext, ReadAnswer } from '../call/wire-protocol.ts';
import { mapLimitText } from '../vendors/map-limit-text.ts';
import { findError } from '../vendors/read-error.ts';

/** The content of a message: blocks in order. Only the raw body keeps those that say nothing, and their signatures. */
const contentSchema = z.array(
  z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('text'), text: z.string() }),
      z.object({ type: z.literal('thinking'), thinking: z.string() }),
      z.object({ type: z.literal('redacted_thinking') }),
      z.object({
        type: z.literal('tool_use'),
        id: z.string(),
        name: z.string(),
        input: z.unknown().optional(),
      }),
      z.object({ type: z.literal('other') }),
    ])
    .catch({ type: 'other' }),
);
type Content = z.infer<typeof contentSchema>;

/** Reads the body of a successful response, whatever it is. Never throws. */
export function readMessage(raw: unknown, { nowMs }: Pick<AnswerContext, 'nowMs'>): ReadAnswer {
  const { data: content } = contentSchema.safeParse(fieldOf(raw, 'content'));
  const reason = fieldOf(raw, 'stop_reason');
  const rawFinishReason = typeof reason === 'string' ? reason : null;
  const finishReason = mapStopReason(rawFinishReason);
  const output = { ...mapContent(content, finishReason), refusal: readRefusal(raw) };
  return {
    servedModel: readServedModel(raw),
    output,
    finishReason,
    rawFinishReason,
    usage: readMessageUsage(raw),
    problem: findProblem(raw, content !== undefined, output.text, nowMs),
  };
}

/** @see https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons (2026-11) */
function mapStopReason(reason: string | null): FinishReason | null {
  switch (reason) {
    case null:
      return null;
    case 'end_turn':
    case 'stop_sequence':
      return 'stop';
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'tool_use':
      return 'tool-calls';
    // The vendor's safety classifiers stopped the model.
    case 'refusal':
      return 'content-filter';
    default:
      return 'other';
  }
}

function mapContent(
  read: Content | undefined,
  finishReason: FinishReason | null,
): Omit<ModelOutput, 'refusal'> {
  const content = read ?? [];
  const texts = content.filter((block) => block.type === 'text');
  const thoughts = content.filter((block) => block.type === 'thinking');
  // An answer that is empty has no block: "exactly 2-3 tokens with no content", by the page on stop reasons.
  const isEmptyAnswer = read?.length === 0 && finishReason === 'stop';
  const isSilent = texts.length === 0 && !isEmptyAnswer;
  return {
    text: isSilent ? null : texts.map(({ text }) => text).join(''),
    images: [],
    toolCalls: content
      .filter((block) => block.type === 'tool_use')
      .map(({ id, name, input }) => ({
        id,
        name,
        arguments: typeof input === 'string' ? input : JSON.stringify(input ?? {}),
      })),
    reasoning: emptyToNull(thoughts.map(({ thinking }) => thinking).join('\n\n')),
  };
}

/** Why the safety classifiers stopped the model, in the vendor's words. */
function readRefusal(raw: unknown): string | null {
  const explanation = fieldOf(fieldOf(raw, 'stop_details'), 'explanation');
  return typeof explanation === 'string' ? emptyToNull(explanation) : null;
}

/**
 * Returns the token counts. The vendor counts the input that it read from its cache, or wrote to it, apart: "Total
 * input tokens in a request is the summation of `input_tokens`, `cache_creation_input_tokens`, and
 * `cache_read_input_tokens`".
 *
 * @see `Message.usage` in the types of `@anthropic-ai/sdk` 1.12.0 (2026-11-20)
 */
function readMessageUsage(raw: unknown): Usage {
  const usage = fieldOf(raw, 'usage');
  if (!isRecord(usage) && findError(raw) !== undefined && !Array.isArray(fieldOf(raw, 'content'))) {
    return NO_TOKENS;
  }
  const uncached = readCount(fieldOf(usage, 'input_tokens'));
  const written = readCount(fieldOf(usage, 'cache_creation_input_tokens'));
  const cached = readCount(fieldOf(usage, 'cache_read_input_tokens'));
  return {
    inputTokens: uncached === null ? null : uncached + (written ?? 0) + (cached ?? 0),
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    longCacheWriteTokens: readCount(
      fieldOf(fieldOf(usage, 'cache_creation'), 'ephemeral_1h_input_tokens'),
    ),
    outputTokens: readCount(fieldOf(usage, 'output_tokens')),
    reasoningTokens: readCount(fieldOf(fieldOf(usage, 'output_tokens_details'), 'thinking_tokens')),
    serviceTier: readTier(usage),
  };
}

/**
 * Returns what a message is billed as. Fast mode and inference in the US alone are no service tiers for the vendor, but
 * have prices of their own.
 *
 * @see https://platform.claude.com/docs/en/about-claude/pricing (2026-11)
 */
function readTier(usage: unknown): string | null {
  const tier = readServiceTier(fieldOf(usage, 'service_tier'));
  const surcharges = [
    fieldOf(usage, 'speed') === 'fast' ? 'fast' : undefined,
    fieldOf(usage, 'inference_geo') === 'us' ? 'us' : undefined,
  ].filter((name) => name !== undefined);
  if (surcharges.length === 0) return tier;
  const isStandard = tier === null || tier === 'standard';
  return [...(isStandard ? [] : [tier]), ...surcharges].join(' ');
}

function findProblem(
  raw: unknown,
  isMessage: boolean,
  text: string | null,
  nowMs: number,
): ReadAnswer['problem'] {
  const error = findError(raw);
  if (error !== undefined) return new APIError(undefined, { error }, undefined, undefined);
  if (isMessage) return text === null ? undefined : mapLimitText(text, nowMs);
  return new ThriceError({
    code: 'truncated-response',
    message: 'expected a message with its content, received another body',
  });
}
