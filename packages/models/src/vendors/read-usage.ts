import type { Usage, Vendor } from '@thrice/core';
import { readCount } from '../call/body-fields.ts';
import { fieldOf } from '../call/json-value.ts';

/** Where vendors report the input that they read from their cache, the usual place first. */
const CACHED_INPUT: readonly (readonly string[])[] = [
  // https://platform.openai.com/docs/api-reference/chat/object
  ['prompt_tokens_details', 'cached_tokens'],
  // DeepSeek: https://api-docs.deepseek.com/guides/kv_cache (2026-11)
  ['prompt_cache_hit_tokens'],
  // Kimi: https://platform.kimi.ai/docs/api/chat; https://github.com/earendil-works/pi/issues/8075 (2026-08-13)
  ['cached_tokens'],
];

/** Where vendors report the input that they wrote to their cache: `openai` 7.55.0, `PromptTokensDetails` (2026-11). */
const CACHE_WRITES: readonly (readonly string[])[] = [
  ['prompt_tokens_details', 'cache_write_tokens'],
];

/** Where vendors report the tokens of the reasoning. */
const REASONING: readonly (readonly string[])[] = [
  ['completion_tokens_details', 'reasoning_tokens'],
];

/**
 * Vendors whose `completion_tokens` leave the reasoning out. Their `total_tokens` say so too: they have it.
 *
 * - Grok: "reasoning token consumption will be counted separately from completion_tokens, but will be counted in the
 *   total_tokens", https://docs.x.ai/docs/key-information/consumption-and-rate-limits, by
 *   https://github.com/vercel/ai/pull/12425 (2026-02-11).
 * - Gemini: `{"completion_tokens":1,"prompt_tokens":9,"total_tokens":103}`, and no field for the reasoning,
 *   https://discuss.ai.google.dev/t/127400 (2026-02).
 */
const REASONING_APART: ReadonlySet<Vendor | undefined> = new Set<Vendor>(['grok', 'gemini']);

/** Returns the token counts of a chat completion's `usage`; null, never 0, for a count that it does not report. */
export function readChatUsage(
  usage: unknown,
  vendor: Vendor | undefined,
): Omit<Usage, 'serviceTier'> {
  const inputTokens = readCount(fieldOf(usage, 'prompt_tokens'));
  const completionTokens = readCount(fieldOf(usage, 'completion_tokens'));
  const counts = {
    inputTokens,
    completionTokens,
    reasoningTokens: readFirst(usage, REASONING),
    totalTokens: readCount(fieldOf(usage, 'total_tokens')),
  };
  return {
    inputTokens,
    cachedInputTokens: readFirst(usage, CACHED_INPUT),
    cacheWriteTokens: readFirst(usage, CACHE_WRITES),
    longCacheWriteTokens: null,
    ...countOutput(counts, vendor),
  };
}

interface Counts {
  readonly inputTokens: number | null;
  readonly completionTokens: number | null;
  readonly reasoningTokens: number | null;
  readonly totalTokens: number | null;
}

/** Counts the reasoning as output, where the vendor counts it apart; `total_tokens` decide, whoever the vendor is. */
function countOutput(
  { inputTokens, completionTokens, reasoningTokens, totalTokens }: Counts,
  vendor: Vendor | undefined,
): Pick<Usage, 'outputTokens' | 'reasoningTokens'> {
  const asReported = { outputTokens: completionTokens, reasoningTokens };
  if (completionTokens === null) return asReported;
  if (inputTokens === null || totalTokens === null) {
    const isApart = REASONING_APART.has(vendor) && reasoningTokens !== null;
    return isApart
      ? { outputTokens: completionTokens + reasoningTokens, reasoningTokens }
      : asReported;
  }
  const uncounted = totalTokens - inputTokens - completionTokens;
  const isReasoning =
    reasoningTokens === null ? REASONING_APART.has(vendor) : reasoningTokens === uncounted;
  if (uncounted <= 0 || !isReasoning) return asReported;
  return { outputTokens: completionTokens + uncounted, reasoningTokens: uncounted };
}

function readFirst(usage: unknown, paths: readonly (readonly string[])[]): number | null {
  const counts = paths.map((path) => readCount(path.reduce<unknown>(fieldOf, usage)));
  return counts.find((count) => count !== null) ?? null;
}
