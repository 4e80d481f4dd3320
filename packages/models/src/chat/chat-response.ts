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
  /** Vendors name the reasoning that they show in one of two ways, or send it as parts of the content. */
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish(),
});

/** What we read of a chat completion; vendors send more, and some send less. */
export const chatCompletionSchema = z.object({
  model: z.string().nullish(),
  choices: z
    .array(z.object({ message: messageSchema, finish_reason: z.string().nullish() }))
    .min(1),
  usage: usageSchema.nullish(),
});
/** What we read of a chat completion. */
export type ChatCompletion = z.infer<typeof chatCompletionSchema>;

/** What we read of one chunk of a streamed completion. */
export const chatChunkSchema = z.object({
  model: z.string().nullish(),
  choices: z
    .array(z.object({ delta: messageSchema.nullish(), finish_reason: z.string().nullish() }))
    .nullish(),
  usage: usageSchema.nullish(),
});

/** An error object in the body, whatever the status. */
export const errorBodySchema = z.object({
  error: z.object({
    code: z.union([z.string(), z.number()]).nullish(),
    type: z.string().nullish(),
    message: z.string().nullish(),
  }),
});

/** Token counts; what the vendor does not say is null, never 0. */
export function mapUsage(usage: ChatCompletion['usage']): Usage {
  return {
    inputTokens: usage?.prompt_tokens ?? null,
    cachedInputTokens: usage?.prompt_tokens_details?.cached_tokens ?? null,
    outputTokens: usage?.completion_tokens ?? null,
    reasoningTokens: usage?.completion_tokens_details?.reasoning_tokens ?? null,
  };
}

/** The unified finish reason; null where there was none. */
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
