import type { ImagePart } from '@thrice/core';
import * as z from 'zod';

const textPartSchema = z.object({ type: z.literal('text'), text: z.string() });

const imagePartSchema = z.object({
  type: z.literal('image_url'),
  image_url: z.object({ url: z.string().min(1) }),
});

const thinkingPartSchema = z.object({
  type: z.literal('thinking'),
  /** May also hold references, which have no text. */
  thinking: z.array(textPartSchema.catch({ type: 'text', text: '' })),
});

/** A part without text or image, such as a citation; only the raw body keeps it. */
const otherPartSchema = z.object({ type: z.literal('other') });

/** The content of a message: one text, or parts in order. */
export const contentSchema = z.union([
  z.string(),
  z.array(
    z
      .discriminatedUnion('type', [
        textPartSchema,
        imagePartSchema,
        thinkingPartSchema,
        otherPartSchema,
      ])
      .catch({ type: 'other' }),
  ),
]);

/** Images beside the content. Unreadable images must not cost the text. */
export const imagesSchema = z.array(imagePartSchema).nullish().catch(null);

/** The content of a message, sorted by kind; null for a kind that has no parts. */
export interface SortedContent {
  readonly text: string | null;
  readonly thinking: string | null;
  readonly images: readonly ImagePart[];
}

/** Sorts the parts of a message's content by kind. */
export function sortContent(
  content: z.infer<typeof contentSchema> | null | undefined,
): SortedContent {
  if (content === null || content === undefined) return { text: null, thinking: null, images: [] };
  if (typeof content === 'string') return { text: content, thinking: null, images: [] };
  const texts = content.filter((part) => part.type === 'text');
  const thoughts = content.filter((part) => part.type === 'thinking');
  return {
    text: joinTexts(texts),
    thinking: joinTexts(thoughts.flatMap(({ thinking }) => thinking)),
    images: content.filter((part) => part.type === 'image_url').map(toImage),
  };
}

/** Returns the image of an `image_url` part. */
export function toImage({ image_url: { url } }: z.infer<typeof imagePartSchema>): ImagePart {
  return { kind: 'image', url };
}

function joinTexts(parts: readonly z.infer<typeof textPartSchema>[]): string | null {
  return parts.length === 0 ? null : parts.map(({ text }) => text).join('');
}
