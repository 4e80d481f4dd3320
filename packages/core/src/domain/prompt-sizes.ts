import { imageCountOf, type Message, textsOf } from './message.ts';
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
  const bytes = sum(contents.flatMap(textsOf).map(utf8Bytes));
  return {
    prompts: sizes.prompts + 1,
    bytes: sizes.bytes + bytes,
    messages: sizes.messages + messages.length,
    images: sizes.images + sum(contents.map(imageCountOf)),
    longestBytes: Math.max(sizes.longestBytes, bytes),
  };
}

/** Adds the sizes of some prompts, each so many times. */
export function addSizes(sizes: PromptSizes, added: PromptSizes, times: number): PromptSizes {
  return {
    prompts: sizes.prompts + times * added.prompts,
    bytes: sizes.bytes + times * added.bytes,
    messages: sizes.messages + times * added.messages,
    images: sizes.images + times * added.images,
    longestBytes: Math.max(sizes.longestBytes, added.longestBytes),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
