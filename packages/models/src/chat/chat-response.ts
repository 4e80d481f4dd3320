import type { FinishReason, ModelOutput, Usage, Vendor } from '@thrice/core';
import * as z from 'zod';
import { emptyToNull, NO_TOKENS, readServiceTier } from '../call/body-fields.ts';
import { fieldOf, isRecord } from '../call/json-value.ts';
import { isFilterReason } from '../vendors/map-unfinished.ts';
import { findError } from '../vendors/read-error.ts';
import { readChatUsage } from '../vendors/read-usage.ts';
import { contentSchema, imagesSchema, sortContent, toImage } from './message-parts.ts';
import { readReasoning, reasoningFields } from './reasoning-fields.ts';

const toolCallsSchema = z
  .array(
    z.object({
      /** In a stream, the position in the message of the call that a piece belongs to. */
      index: z.int().nullish(),
      id: z.string().nullish(),
      function: z.object({ name: z.string().nullish(), arguments: z.string().nullish() }).nullish(),
    }),
  )
  .nullish()
  // Unreadable tool calls must not cost the text beside them.
  .catch(null);

const messageSchema = z.object({
  content: contentSchema.nullish(),
  images: imagesSchema,
  tool_calls: toolCallsSchema,
  refusal: z.string().nullish(),
  ...reasoningFields,
});

/**
 * The fields of a chat completion that make its answer. Some vendors omit some of them. The tokens are read apart:
 * {@link readUsage}.
 */
export const chatCompletionSchema = z.object({
  model: z.string().nullish(),
  choices: z
    .array(z.object({ message: messageSchema.nullish(), finish_reason: z.string().nullish() }))
    .min(1),
});

/** The fields of one chunk of a streamed completion that make its answer. */
export const chatChunkSchema = z.object({
  model: z.string().nullish(),
  choices: z
    .array(
      z.object({
        index: z.int().nullish().catch(null),
        delta: messageSchema.nullish(),
        finish_reason: z.string().nullish(),
        usage: z.unknown().optional(),
      }),
    )
    .nullish(),
});

/**
 * Returns the token counts of a body, whatever the rest of it is; null, never 0, for a count that the vendor does
 * not report.
 *
 * An error object in place of a completion is the exception: no completion was made, as with a refusal by status,
 * so the counts that it does not report are known to be 0.
 */
export function readUsage(raw: unknown, vendor: Vendor | undefined): Usage {
  const usage = fieldOf(raw, 'usage');
  if (!isRecord(usage) && isErrorAlone(raw)) return NO_TOKENS;
  const serviceTier = readServiceTier(fieldOf(raw, 'service_tier'));
  return { ...readChatUsage(usage, vendor), serviceTier };
}

/** The unified finish reason; null if the response has none. */
export function mapFinishReason(reason: string | null | undefined): FinishReason | null {
  switch (reason) {
    case null:
    case undefined:
      return null;
    case 'stop':
    case 'length':
      return reason;
    case 'tool_calls':
    case 'function_call':
      return 'tool-calls';
    default:
      return isFilterReason(reason) ? 'content-filter' : 'other';
  }
}

/** The output of a message, or of one chunk of it. */
export function mapOutput(message: z.infer<typeof messageSchema>): ModelOutput {
  const { text, thinking, images } = sortContent(message.content);
  return {
    text,
    images: [...images, ...(message.images ?? []).map(toImage)],
    toolCalls: (message.tool_calls ?? []).map(({ id, function: called }) => ({
      id: id ?? '',
      name: called?.name ?? '',
      arguments: called?.arguments ?? '',
    })),
    reasoning: readReasoning(message) ?? emptyToNull(thinking),
    refusal: emptyToNull(message.refusal),
  };
}

function isErrorAlone(raw: unknown): boolean {
  const choices = fieldOf(raw, 'choices');
  const hasChoice = Array.isArray(choices) && choices.length > 0;
  return findError(raw) !== undefined && !hasChoice;
}
