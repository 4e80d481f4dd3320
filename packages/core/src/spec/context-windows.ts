/** A documented context window. */
export interface ContextWindow {
  /** Tokens of prompt and answer together. */
  readonly tokens: number;
  /** Where it is documented. */
  readonly source: string;
}

// Read 2026-11, in stored copies of these pages.
const openai = 'https://openai.com/index/new-models-and-developer-products-announced-at-devday/';
const azure = 'https://learn.microsoft.com/azure/ai-foundry/openai/concepts/models';
const gpt5 = 'https://github.com/labring/fastgpt-plugin/pull/297';
const claude = 'https://platform.claude.com/docs/en/build-with-claude/context-windows';
const gemini = 'https://docs.rs/crate/koda-core/latest/source/src/model_context.rs';

/** By model; the first one counts that a name is, or is a dated version of. */
const WINDOWS: readonly (readonly [model: string, tokens: number, source: string])[] = [
  ['gpt-5.1', 400_000, gpt5],
  ['gpt-5.1-chat-latest', 128_000, gpt5],
  ['gpt-5', 400_000, gpt5],
  ['gpt-5-chat-latest', 128_000, gpt5],
  ['gpt-4.1', 1_000_000, 'https://openai.com/index/gpt-4-1/'],
  ['gpt-4o', 128_000, azure],
  ['gpt-4o-mini', 128_000, azure],
  ['gpt-4-turbo', 128_000, openai],
  ['gpt-4-1106-preview', 128_000, openai],
  ['gpt-4-0125-preview', 128_000, openai],
  ['gpt-4-32k', 32_768, 'https://openai.com/index/gpt-4-research/'],
  ['gpt-4', 8_192, 'https://openai.com/index/gpt-4-research/'],
  ['gpt-3.5-turbo', 16_385, azure],
  ['claude-opus-4-6', 1_000_000, claude],
  ['claude-sonnet-4-6', 1_000_000, claude],
  ['claude-opus-4-5', 200_000, claude],
  ['claude-sonnet-4-5', 200_000, claude],
  ['gemini-2.5-pro', 1_048_576, gemini],
];

/** Returns the documented context window of a model, whatever prefix a router gives it; undefined if none is known. */
export function contextWindowOf(model: string): ContextWindow | undefined {
  const name = model.toLowerCase().split('/').at(-1) ?? '';
  const found = WINDOWS.find(
    ([known]) =>
      name === known || (name.startsWith(known) && /^-\d/.test(name.slice(known.length))),
  );
  return found === undefined ? undefined : { tokens: found[1], source: found[2] };
}
