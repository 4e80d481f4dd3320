import type { ModelOutput } from '@thrice/core';
import * as z from 'zod';
import { emptyToNull } from '../call/body-fields.ts';

const otherSchema = z.object({ type: z.literal('other') });

const textsSchema = z.array(z.object({ text: z.string() }).catch({ text: '' }));

const messageItemSchema = z.object({
  type: z.literal('message'),
  content: z.array(
    z
      .discriminatedUnion('type', [
        z.object({ type: z.literal('output_text'), text: z.string() }),
        z.object({ type: z.literal('refusal'), refusal: z.string() }),
        otherSchema,
      ])
      .catch({ type: 'other' }),
  ),
  /** `commentary` is what a model says while it works; unreadable: as good as none. */
  phase: z.string().nullish().catch(null),
});

const reasoningItemSchema = z.object({
  type: z.literal('reasoning'),
  summary: textsSchema.nullish().catch(null),
  /** The reasoning itself, which only servers of open models send. */
  content: textsSchema.nullish().catch(null),
});

const functionCallSchema = z.object({
  type: z.literal('function_call'),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string(),
});

/** The output of a response: items in order. Only the raw body keeps the items that say nothing. */
export const responseItemsSchema = z.array(
  z
    .discriminatedUnion('type', [
      messageItemSchema,
      reasoningItemSchema,
      functionCallSchema,
      otherSchema,
    ])
    .catch({ type: 'other' }),
);
type ResponseItem = z.infer<typeof responseItemsSchema>[number];

/** Returns what the items of a response say. */
export function mapItems(items: readonly ResponseItem[]): ModelOutput {
  const messages = items.filter((item) => item.type === 'message');
  const finals = messages.filter(({ phase }) => phase !== 'commentary');
  const parts = (finals.length > 0 ? finals : messages).flatMap(({ content }) => content);
  const texts = parts.filter((part) => part.type === 'output_text');
  const refusals = parts.filter((part) => part.type === 'refusal');
  return {
    text: texts.length === 0 ? null : texts.map(({ text }) => text).join(''),
    images: [],
    toolCalls: items
      .filter((item) => item.type === 'function_call')
      .map(({ call_id: id, name, arguments: text }) => ({ id, name, arguments: text })),
    reasoning: readReasoning(items),
    refusal: emptyToNull(refusals.map(({ refusal }) => refusal).join('')),
  };
}

/** The reasoning of the items; its summary, where the vendor keeps the reasoning itself. */
function readReasoning(items: readonly ResponseItem[]): string | null {
  const texts = items
    .filter((item) => item.type === 'reasoning')
    .flatMap(({ summary, content }) => (content?.length ? content : (summary ?? [])));
  return emptyToNull(texts.map(({ text }) => text).join('\n\n'));
}
