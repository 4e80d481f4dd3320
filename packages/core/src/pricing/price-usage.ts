import type { Price } from '../domain/benchmark-spec.ts';
import type { Usage } from '../domain/call.ts';

const TOKENS_PER_PRICE = 1_000_000;

/**
 * What a call costs by the price table.
 *
 * Reasoning tokens are part of the output tokens; cached tokens are part of the input tokens and
 * cost `cached_input` where the table has it.
 *
 * @returns USD; null when the price or a token count is unknown.
 */
export function priceUsage(price: Price | undefined, usage: Usage): number | null {
  if (price === undefined || usage.inputTokens === null || usage.outputTokens === null) return null;
  const cachedTokens = price.cached_input === undefined ? 0 : (usage.cachedInputTokens ?? 0);
  const freshTokens = usage.inputTokens - cachedTokens;
  const cachedUsd = cachedTokens * (price.cached_input ?? 0);
  return (
    (freshTokens * price.input + cachedUsd + usage.outputTokens * price.output) / TOKENS_PER_PRICE
  );
}
