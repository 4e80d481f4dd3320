import type { Message, MessageContent } from './message.ts';
import { utf8Bytes } from './utf8-bytes.ts';

/** How large the first prompts of a config are, over all of its questions. */
export interface PromptSizes {
  readonly prompts: number;
  /** Of their texts in UTF-8. */
  readonly bytes: number;
  readonly messages: number;
  readonly images: number;
  /** Of the prompt with the most bytes. */
  readonly longestBytes: number;
}

/** The size of no prompt. */
export const NO_PROMPTS: PromptSizes = {
  prompts: 0,
  bytes: 0,
  messages: 0,
  images: 0,
  longestBytes: 0,
};

/** Adds one prompt to the sizes of others. */
export function addPrompt(sizes: PromptSizes, messages: readonly Message[]): PromptSizes {
  const contents = messages.map(({ content }) => content);
  const bytes = sum(contents.map(bytesOf));
  return {
    prompts: sizes.prompts + 1,
    bytes: sizes.bytes + bytes,
    messages: sizes.messages + messages.length,
    images: sizes.images + sum(contents.map(imagesOf)),
    longestBytes: Math.max(sizes.longestBytes, bytes),
  };
}

function bytesOf(content: MessageContent): number {
  if (typeof content === 'string') return utf8Bytes(content);
  return sum(content.map((part) => (part.kind === 'text' ? utf8Bytes(part.text) : 0)));
}

function imagesOf(content: MessageContent): number {
  if (typeof content === 'string') return 0;
  return content.filter(({ kind }) => kind === 'image').length;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
