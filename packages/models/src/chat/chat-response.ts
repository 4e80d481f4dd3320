import type { FinishReason, ModelOutput, Usage } from '@thrice/core';
import * as z from 'zod';
import { contentSchema, imagesSchema, sortContent, toImage } from './message-parts.ts';

/** An unreadable count is unknown; the answer is kept. */
const count = z.int().min(0).nullish().catch(null);

const usageSchema = z.object({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: z.object({ cached_tokens: count }).nullish(),
  completion_tokens_details: z.object({ reasoning_tokens: count }).nullish(),
});

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
  /** Vendors send reasoning under one of these two names, or as parts of the content. */
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
});

/** The fields of a chat completion that the client reads. Some vendors omit some of them. */
export const chatCompletionSchema = z.object({
  model: z.string().nullish(),
  choices: z
    .array(z.object({ message: messageSchema, finish_reason: z.string().nullish() }))
    .min(1),
  usage: usageSchema.nullish(),
});
/** The fields of a chat completion that the client reads. */
export type ChatCompletion = z.infer<typeof chatCompletionSchema>;

/** The fields of one chunk of a streamed completion that the client reads. */
export const chatChunkSchema = z.object({
  model: z.string().nullish(),
  choices: z
    .array(z.object({ delta: messageSchema.nullish(), finish_reason: z.string().nullish() }))
    .nullish(),
  usage: usageSchema.nullish(),
});

/** A body with an error object, which some servers send with a successful status. */
export const errorBodySchema = z.object({
  error: z.object({
    code: z.union([z.string(), z.number()]).nullish(),
    type: z.string().nullish(),
    message: z.string().nullish(),
  }),
});

/** Token counts; null, never 0, for a count that the vendor does not report. */
export function mapUsage(usage: ChatCompletion['usage']): Usage {
  return {
    inputTokens: usage?.prompt_tokens ?? null,
    cachedInputTokens: usage?.prompt_tokens_details?.cached_tokens ?? null,
    outputTokens: usage?.completion_tokens ?? null,
    reasoningTokens: usage?.completion_tokens_details?.reasoning_tokens ?? null,
  };
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
    case 'content_filter':
      return 'content-filter';
    default:
      return 'other';
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
    reasoning:
      emptyToNull(message.reasoning_content) ??
      emptyToNull(message.reasoning) ??
      emptyToNull(thinking),
    refusal: emptyToNull(message.refusal),
  };
}

function emptyToNull(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}
