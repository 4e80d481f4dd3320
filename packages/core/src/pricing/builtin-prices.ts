import type { Price } from '../domain/price.ts';

/** Prices of one lane's models that were read from one page. */
export interface PriceList {
  readonly lane: string;
  readonly source: string;
  /** The day on which it was read. */
  readonly date: string;
  /** By model. */
  readonly prices: Readonly<Record<string, Price>>;
}

/** The version of {@link builtinPriceLists}: the day of its last edit. */
export const BUILTIN_PRICES_VERSION = '2026-11-22';

/**
 * The prices that the vendors of the built-in lanes publish, USD per million tokens.
 *
 * A model is here if two tables that do not depend on each other have read the same from the vendor's page:
 * `model_prices_and_context_window.json` of the package `litellm` 1.109.1, and `data.py` of `genai-prices` 0.2.3, compared
 * on the date of the list. What they disagree about is left out, as is what depends on the hour (DeepSeek's current
 * models) or on a fee for each call (models that search): a cost is unknown rather than wrong. The lists of 2026-02 have
 * models that are no longer sold, as they were published then.
 *
 * Service tiers of Gemini, `fast` and `us` of Anthropic, and the long cache writes of OpenAI are from the first table alone.
 * Grok's threshold is "200K and more" in one table and "more than 200K" in the other; here it is the former, which is dearer.
 */
// biome-ignore format: a table is read with one model in a line
export const builtinPriceLists: readonly PriceList[] = [
  {
    lane: 'openai',
    source: 'https://developers.openai.com/api/docs/pricing',
    date: '2026-11-22',
    prices: {
      'chat-latest': { input: 5, cached_input: 0.5, output: 30, service_tiers: {} },
      'gpt-3.5-turbo': { input: 0.5, output: 1.5, service_tiers: {} },
      'gpt-4-turbo': { input: 10, output: 30, service_tiers: {} },
      'gpt-4.1': { input: 2, cached_input: 0.5, output: 8, batch: { input: 1, output: 4 }, service_tiers: { priority: 1.75 } },
      'gpt-4.1-mini': { input: 0.4, cached_input: 0.1, output: 1.6, batch: { input: 0.2, output: 0.8 }, service_tiers: { priority: 1.75 } },
      'gpt-4.1-nano': { input: 0.1, cached_input: 0.025, output: 0.4, batch: { input: 0.05, output: 0.2 }, service_tiers: { priority: 2 } },
      'gpt-4o': { input: 2.5, cached_input: 1.25, output: 10, batch: { input: 1.25, output: 5 }, service_tiers: { priority: 1.7 } },
      'gpt-4o-2024-05-13': { input: 5, output: 15, batch: 0.5, service_tiers: { priority: 1.75 } },
      'gpt-4o-mini': { input: 0.15, cached_input: 0.075, output: 0.6, batch: { input: 0.075, output: 0.3 }, service_tiers: { priority: { input: 0.25, cached_input: 0.125, output: 1 } } },
      'gpt-5': { input: 1.25, cached_input: 0.125, output: 10, batch: 0.5, service_tiers: { flex: 0.5, priority: 2 } },
      'gpt-5-mini': { input: 0.25, cached_input: 0.025, output: 2, batch: 0.5, service_tiers: { flex: 0.5, priority: 1.8 } },
      'gpt-5-nano': { input: 0.05, cached_input: 0.005, output: 0.4, batch: 0.5, service_tiers: { flex: 0.5 } },
      'gpt-5-pro': { input: 15, output: 120, batch: 0.5, service_tiers: {} },
      'gpt-5.1': { input: 1.25, cached_input: 0.125, output: 10, batch: 0.5, service_tiers: { flex: 0.5, priority: 2 } },
      'gpt-5.2': { input: 1.75, cached_input: 0.175, output: 14, batch: 0.5, service_tiers: { flex: 0.5, priority: 2 } },
      'gpt-5.2-pro': { input: 21, output: 168, batch: 0.5, service_tiers: {} },
      'gpt-5.3-codex': { input: 1.75, cached_input: 0.175, output: 14, service_tiers: { priority: 2 } },
      'gpt-5.4': { input: 2.5, cached_input: 0.25, output: 15, tiers: [{ above: 272_000, input: 5, cached_input: 0.5, output: 22.5 }], batch: { input: 1.25, cached_input: 0.13, output: 7.5, tiers: [{ above: 272_000, input: 2.5, cached_input: 0.25, output: 11.25 }] }, service_tiers: { flex: { input: 1.25, cached_input: 0.13, output: 7.5, tiers: [{ above: 272_000, input: 2.5, cached_input: 0.25, output: 11.25 }] }, priority: { input: 5, cached_input: 0.5, output: 30 } } },
      'gpt-5.4-mini': { input: 0.75, cached_input: 0.075, output: 4.5, batch: 0.5, service_tiers: { flex: 0.5, priority: 2 } },
      'gpt-5.4-nano': { input: 0.2, cached_input: 0.02, output: 1.25, batch: 0.5, service_tiers: { flex: 0.5 } },
      'gpt-5.4-pro': { input: 30, output: 180, tiers: [{ above: 272_000, input: 60, output: 270 }], batch: 0.5, service_tiers: { flex: 0.5 } },
      'gpt-5.5': { input: 5, cached_input: 0.5, output: 30, tiers: [{ above: 272_000, input: 10, cached_input: 1, output: 45 }], batch: 0.5, service_tiers: { flex: 0.5, priority: { input: 12.5, cached_input: 1.25, output: 75 } } },
      'gpt-5.5-pro': { input: 30, output: 180, tiers: [{ above: 272_000, input: 60, output: 270 }], batch: 0.5, service_tiers: { flex: 0.5 } },
      'gpt-5.6': { input: 4, cached_input: 0.4, cache_write: 5, long_cache_write: 10, output: 20, tiers: [{ above: 272_000, input: 8, cached_input: 0.8, cache_write: 10, long_cache_write: 20, output: 30 }], batch: 0.5, service_tiers: { flex: 0.5, priority: 2 } },
      'gpt-5.6-luna': { input: 0.2, cached_input: 0.02, cache_write: 0.25, long_cache_write: 0.5, output: 1.2, tiers: [{ above: 272_000, input: 0.4, cached_input: 0.04, cache_write: 0.5, long_cache_write: 1, output: 1.8 }], batch: 0.5, service_tiers: { flex: 0.5, priority: 2 } },
      'gpt-5.6-sol': { input: 4, cached_input: 0.4, cache_write: 5, long_cache_write: 10, output: 20, tiers: [{ above: 272_000, input: 8, cached_input: 0.8, cache_write: 10, long_cache_write: 20, output: 30 }], batch: 0.5, service_tiers: { flex: 0.5, priority: 2 } },
      'gpt-5.6-terra': { input: 2, cached_input: 0.2, cache_write: 2.5, long_cache_write: 5, output: 12, tiers: [{ above: 272_000, input: 4, cached_input: 0.4, cache_write: 5, long_cache_write: 10, output: 18 }], batch: 0.5, service_tiers: { flex: 0.5, priority: 2 } },
      'gpt-6-astra': { input: 10, cached_input: 1, cache_write: 12.5, long_cache_write: 25, output: 50, tiers: [{ above: 272_000, input: 20, cached_input: 2, cache_write: 25, long_cache_write: 50, output: 75 }], batch: 0.5, service_tiers: { flex: 0.5, priority: 2 } },
      'gpt-6-luna': { input: 0.1, cached_input: 0.01, cache_write: 0.125, long_cache_write: 0.25, output: 0.5, tiers: [{ above: 272_000, input: 0.2, cached_input: 0.02, cache_write: 0.25, long_cache_write: 0.5, output: 0.75 }], batch: 0.5, service_tiers: { flex: 0.5, priority: 2 } },
      'gpt-6-sol': { input: 2, cached_input: 0.2, cache_write: 2.5, long_cache_write: 5, output: 10, tiers: [{ above: 272_000, input: 4, cached_input: 0.4, cache_write: 5, long_cache_write: 10, output: 15 }], batch: 0.5, service_tiers: { flex: 0.5, priority: 2 } },
      'gpt-6.1-sol': { input: 2, cached_input: 0.1, cache_write: 2.5, long_cache_write: 5, output: 10, tiers: [{ above: 272_000, input: 4, cached_input: 0.2, cache_write: 5, long_cache_write: 10, output: 15 }], batch: 0.5, service_tiers: { flex: 0.5, priority: 2 } },
      'gpt-6.1-terra': { input: 1, cached_input: 0.05, cache_write: 1.25, long_cache_write: 2.5, output: 5, tiers: [{ above: 272_000, input: 2, cached_input: 0.1, cache_write: 2.5, long_cache_write: 5, output: 7.5 }], batch: 0.5, service_tiers: { flex: 0.5, priority: 2 } },
      o1: { input: 15, cached_input: 7.5, output: 60, batch: { input: 7.5, output: 30 }, service_tiers: {} },
      o3: { input: 2, cached_input: 0.5, output: 8, batch: { input: 1, output: 4 }, service_tiers: { flex: 0.5, priority: 1.75 } },
      'o3-mini': { input: 1.1, cached_input: 0.55, output: 4.4, batch: { input: 0.55, output: 2.2 }, service_tiers: {} },
      'o3-pro': { input: 20, output: 80, batch: 0.5, service_tiers: {} },
      'o4-mini': { input: 1.1, cached_input: 0.275, output: 4.4, batch: { input: 0.55, output: 2.2 }, service_tiers: { flex: { input: 0.55, cached_input: 0.138, output: 2.2 }, priority: { input: 2, cached_input: 0.5, output: 8 } } },
    },
  },
  {
    lane: 'anthropic',
    source: 'https://platform.claude.com/docs/en/about-claude/pricing',
    date: '2026-11-22',
    prices: {
      'claude-fable-5': { input: 10, cached_input: 1, cache_write: 12.5, long_cache_write: 20, output: 50, batch: 0.5, service_tiers: { us: 1.1 } },
      'claude-fable-5-1': { input: 10, cached_input: 0.25, cache_write: 12.5, long_cache_write: 20, output: 50, batch: 0.5, service_tiers: { us: 1.1 } },
      'claude-haiku-4-5': { input: 1, cached_input: 0.1, cache_write: 1.25, long_cache_write: 2, output: 5, batch: 0.5, service_tiers: {} },
      'claude-haiku-5-5': { input: 0.1, cached_input: 0.01, cache_write: 0.125, long_cache_write: 0.2, output: 0.5, tiers: [{ above: 100_000, input: 0.5, cached_input: 0.05, cache_write: 0.625, long_cache_write: 1, output: 2.5 }], batch: 0.5, service_tiers: { us: 1.1 } },
      'claude-opus-4-5': { input: 5, cached_input: 0.5, cache_write: 6.25, long_cache_write: 10, output: 25, batch: 0.5, service_tiers: {} },
      'claude-opus-4-6': { input: 5, cached_input: 0.5, cache_write: 6.25, long_cache_write: 10, output: 25, batch: 0.5, service_tiers: { us: 1.1 } },
      'claude-opus-4-7': { input: 5, cached_input: 0.5, cache_write: 6.25, long_cache_write: 10, output: 25, batch: 0.5, service_tiers: { us: 1.1 } },
      'claude-opus-4-8': { input: 5, cached_input: 0.5, cache_write: 6.25, long_cache_write: 10, output: 25, batch: 0.5, service_tiers: { us: 1.1, fast: 2 } },
      'claude-opus-5': { input: 5, cached_input: 0.5, cache_write: 6.25, long_cache_write: 10, output: 25, batch: 0.5, service_tiers: { us: 1.1, fast: 2 } },
      'claude-opus-5-5': { input: 4, cached_input: 0.2, cache_write: 5, long_cache_write: 8, output: 20, batch: 0.5, service_tiers: { us: 1.1, fast: 2 } },
      'claude-sonnet-4-5': { input: 3, cached_input: 0.3, cache_write: 3.75, long_cache_write: 6, output: 15, batch: 0.5, service_tiers: {} },
      'claude-sonnet-4-6': { input: 3, cached_input: 0.3, cache_write: 3.75, long_cache_write: 6, output: 15, batch: 0.5, service_tiers: { us: 1.1 } },
      'claude-sonnet-5': { input: 2, cached_input: 0.2, cache_write: 2.5, long_cache_write: 4, output: 10, batch: 0.5, service_tiers: { us: 1.1 } },
      'claude-sonnet-5-5': { input: 2, cached_input: 0.1, cache_write: 2.5, long_cache_write: 4, output: 10, batch: 0.5, service_tiers: { us: 1.1 } },
    },
  },
  {
    lane: 'gemini',
    source: 'https://ai.google.dev/gemini-api/docs/pricing',
    date: '2026-11-22',
    prices: {
      'gemini-2.5-flash': { input: 0.3, cached_input: 0.03, output: 2.5, batch: { input: 0.15, cached_input: 0.03, output: 1.25 }, service_tiers: { flex: { input: 0.15, cached_input: 0.03, output: 1.25 }, priority: 1.8 } },
      'gemini-2.5-flash-lite': { input: 0.1, cached_input: 0.01, output: 0.4, batch: { input: 0.05, cached_input: 0.01, output: 0.2 }, service_tiers: { flex: { input: 0.05, cached_input: 0.01, output: 0.2 }, priority: 1.8 } },
      'gemini-2.5-pro': { input: 1.25, cached_input: 0.125, output: 10, tiers: [{ above: 200_000, input: 2.5, cached_input: 0.25, output: 15 }], batch: { input: 0.625, cached_input: 0.125, output: 5, tiers: [{ above: 200_000, input: 1.25, cached_input: 0.25, output: 7.5 }] }, service_tiers: { flex: { input: 0.625, cached_input: 0.125, output: 5, tiers: [{ above: 200_000, input: 1.25, cached_input: 0.25, output: 7.5 }] }, priority: 1.8 } },
      'gemini-3-flash-preview': { input: 0.5, cached_input: 0.05, output: 3, batch: { input: 0.25, cached_input: 0.05, output: 1.5 }, service_tiers: { flex: { input: 0.25, cached_input: 0.05, output: 1.5 }, priority: 1.8 } },
      'gemini-3.1-flash-lite': { input: 0.25, cached_input: 0.025, output: 1.5, batch: 0.5, service_tiers: { flex: 0.5, priority: 1.8 } },
      'gemini-3.1-pro-preview': { input: 2, cached_input: 0.2, output: 12, tiers: [{ above: 200_000, input: 4, cached_input: 0.4, output: 18 }], batch: { input: 1, cached_input: 0.2, output: 6, tiers: [{ above: 200_000, input: 2, cached_input: 0.4, output: 9 }] }, service_tiers: { flex: { input: 1, cached_input: 0.2, output: 6, tiers: [{ above: 200_000, input: 2, cached_input: 0.4, output: 9 }] }, priority: 1.8 } },
      'gemini-3.5-flash': { input: 1.5, cached_input: 0.15, output: 9, batch: 0.5, service_tiers: { flex: { input: 0.75, cached_input: 0.08, output: 4.5 }, priority: 1.8 } },
      'gemini-3.5-flash-lite': { input: 0.3, cached_input: 0.03, output: 2.5, batch: { input: 0.15, cached_input: 0.02, output: 1.25 }, service_tiers: { flex: { input: 0.15, cached_input: 0.02, output: 1.25 }, priority: { input: 0.54, cached_input: 0.05, output: 4.5 } } },
      'gemini-3.6-flash': { input: 0.75, cached_input: 0.075, output: 3.75, batch: 0.5, service_tiers: { flex: 0.5, priority: 1.8 } },
      'gemini-3.7-flash': { input: 0.75, cached_input: 0.075, output: 3.75, batch: 0.5, service_tiers: { flex: 0.5, priority: 1.8 } },
      'gemini-3.8-flash': { input: 0.75, cached_input: 0.075, output: 3.75, batch: 0.5, service_tiers: { flex: 0.5, priority: 1.8 } },
      'gemini-4-argon': { input: 2, cached_input: 0.1, output: 10, batch: 0.5, service_tiers: { flex: 0.5, priority: 1.8 } },
      'gemini-flash-latest': { input: 0.75, cached_input: 0.075, output: 3.75, batch: 0.5, service_tiers: { flex: 0.5, priority: 1.8 } },
      'gemini-flash-lite-latest': { input: 0.3, cached_input: 0.03, output: 2.5, batch: { input: 0.15, cached_input: 0.02, output: 1.25 }, service_tiers: { flex: { input: 0.15, cached_input: 0.02, output: 1.25 }, priority: { input: 0.54, cached_input: 0.05, output: 4.5 } } },
      'gemini-pro-latest': { input: 2, cached_input: 0.2, output: 12, tiers: [{ above: 200_000, input: 4, cached_input: 0.4, output: 18 }], service_tiers: { priority: 1.8 } },
    },
  },
  {
    lane: 'kimi',
    source: 'https://platform.kimi.ai/docs/pricing/chat.md',
    date: '2026-11-22',
    prices: {
      'kimi-k2.6': { input: 0.95, cached_input: 0.16, output: 4, service_tiers: {} },
      'kimi-k2.7-code': { input: 0.95, cached_input: 0.19, output: 4, service_tiers: {} },
      'kimi-k3': { input: 3, cached_input: 0.3, cache_write: 3, long_cache_write: 6, output: 15, service_tiers: {} },
      'kimi-k3.1-pro': { input: 2, cached_input: 0.2, cache_write: 2, long_cache_write: 4, output: 10, service_tiers: {} },
    },
  },
  {
    lane: 'grok',
    source: 'https://docs.x.ai/docs/models',
    date: '2026-11-22',
    prices: {
      'grok-4.20': { input: 1.25, cached_input: 0.2, output: 2.5, tiers: [{ above: 199_999, input: 2.5, cached_input: 0.4, output: 5 }], batch: 0.8, service_tiers: {} },
      'grok-4.20-0309-non-reasoning': { input: 1.25, cached_input: 0.2, output: 2.5, tiers: [{ above: 199_999, input: 2.5, cached_input: 0.4, output: 5 }], batch: 0.8, service_tiers: {} },
      'grok-4.20-0309-reasoning': { input: 1.25, cached_input: 0.2, output: 2.5, tiers: [{ above: 199_999, input: 2.5, cached_input: 0.4, output: 5 }], batch: 0.8, service_tiers: {} },
      'grok-4.3': { input: 1.25, cached_input: 0.2, output: 2.5, tiers: [{ above: 199_999, input: 2.5, cached_input: 0.4, output: 5 }], batch: 0.8, service_tiers: {} },
      'grok-4.3-latest': { input: 1.25, cached_input: 0.2, output: 2.5, tiers: [{ above: 199_999, input: 2.5, cached_input: 0.4, output: 5 }], batch: 0.8, service_tiers: {} },
      'grok-4.5': { input: 2, cached_input: 0.3, output: 6, tiers: [{ above: 199_999, input: 4, cached_input: 0.6, output: 12 }], service_tiers: {} },
      'grok-4.5-latest': { input: 2, cached_input: 0.3, output: 6, tiers: [{ above: 199_999, input: 4, cached_input: 0.6, output: 12 }], service_tiers: {} },
      'grok-4.6': { input: 2, cached_input: 0.5, output: 6, tiers: [{ above: 199_999, input: 4, cached_input: 1, output: 12 }], service_tiers: {} },
      'grok-4.7': { input: 2, cached_input: 0.5, output: 6, tiers: [{ above: 199_999, input: 4, cached_input: 1, output: 12 }], batch: 0.8, service_tiers: {} },
      'grok-build-0.1': { input: 1, cached_input: 0.2, output: 2, tiers: [{ above: 199_999, input: 2, cached_input: 0.4, output: 4 }], service_tiers: {} },
    },
  },
  {
    lane: 'mistral',
    source: 'https://mistral.ai/pricing/api',
    date: '2026-11-22',
    prices: {
      'codestral-2508': { input: 0.3, cached_input: 0.03, output: 0.9, batch: 0.5, service_tiers: {} },
      'deepseek-v4-1-flash-1017': { input: 0.3, cached_input: 0.007, output: 1.2, service_tiers: {} },
      'ministral-14b-2512': { input: 0.2, cached_input: 0.02, output: 0.2, batch: 0.5, service_tiers: {} },
      'ministral-3b-2512': { input: 0.1, cached_input: 0.01, output: 0.1, batch: 0.5, service_tiers: {} },
      'ministral-8b-2512': { input: 0.15, cached_input: 0.015, output: 0.15, batch: 0.5, service_tiers: {} },
      'ministral-8b-latest': { input: 0.15, cached_input: 0.015, output: 0.15, batch: 0.5, service_tiers: {} },
      'mistral-large-2512': { input: 0.5, cached_input: 0.05, output: 1.5, batch: 0.5, service_tiers: {} },
      'mistral-medium-2604': { input: 1.5, cached_input: 0.15, output: 7.5, batch: 0.5, service_tiers: {} },
      'mistral-medium-3': { input: 1.5, cached_input: 0.15, output: 7.5, batch: 0.5, service_tiers: {} },
      'mistral-medium-3-5': { input: 1.5, cached_input: 0.15, output: 7.5, batch: 0.5, service_tiers: {} },
      'mistral-medium-3.5': { input: 1.5, cached_input: 0.15, output: 7.5, batch: 0.5, service_tiers: {} },
      'mistral-medium-latest': { input: 1.5, cached_input: 0.15, output: 7.5, batch: 0.5, service_tiers: {} },
      'mistral-small-2603': { input: 0.15, cached_input: 0.015, output: 0.6, batch: 0.5, service_tiers: {} },
      'mistral-small-latest': { input: 0.15, cached_input: 0.015, output: 0.6, batch: 0.5, service_tiers: {} },
      'zai-glm-5-3': { input: 1.4, cached_input: 0.14, output: 4.4, service_tiers: {} },
      'zai-glm-5-3-flash': { input: 0.15, cached_input: 0.03, output: 0.5, service_tiers: {} },
    },
  },
  {
    lane: 'gemini',
    source: 'https://ai.google.dev/gemini-api/docs/pricing',
    date: '2026-02-20',
    prices: {
      'gemini-3-pro-preview': { input: 2, cached_input: 0.2, output: 12, tiers: [{ above: 200_000, input: 4, cached_input: 0.4, output: 18 }], service_tiers: {} },
    },
  },
  {
    lane: 'grok',
    source: 'https://docs.x.ai/docs/models',
    date: '2026-02-20',
    prices: {
      'grok-4-0709': { input: 3, cached_input: 0.75, output: 15, service_tiers: {} },
    },
  },
  {
    lane: 'deepseek',
    source: 'https://api-docs.deepseek.com/quick_start/pricing',
    date: '2026-02-20',
    prices: {
      'deepseek-chat': { input: 0.28, cached_input: 0.028, output: 0.42, service_tiers: {} },
      'deepseek-reasoner': { input: 0.28, cached_input: 0.028, output: 0.42, service_tiers: {} },
    },
  },
];
