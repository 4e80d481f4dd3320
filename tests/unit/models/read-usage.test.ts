import type { Vendor } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { readChatUsage } from '../../../packages/models/src/vendors/read-usage.ts';

interface UsageVector {
  /** Where the body was published. */
  readonly source: string;
  readonly vendor: Vendor | undefined;
  readonly usage: unknown;
  /** Input, cached input, output, reasoning. */
  readonly expected: readonly [number, number | null, number, number | null];
}

const vectors: readonly UsageVector[] = [
  {
    source: 'OpenAI, https://platform.openai.com/docs/api-reference/chat/object',
    vendor: 'openai',
    usage: {
      prompt_tokens: 19,
      completion_tokens: 10,
      total_tokens: 29,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
    },
    expected: [19, 0, 10, 0],
  },
  {
    source: 'Grok, https://github.com/Wei-Shaw/sub2api/issues/5771 (2026-08-18)',
    vendor: 'grok',
    usage: {
      prompt_tokens: 10_120,
      completion_tokens: 1_499,
      total_tokens: 14_428,
      prompt_tokens_details: { cached_tokens: 128 },
      completion_tokens_details: { reasoning_tokens: 2_809 },
    },
    expected: [10_120, 128, 4_308, 2_809],
  },
  {
    // The issue gives completion, reasoning and total; the prompt is what is left of the total.
    source: 'Grok through a proxy, https://github.com/vercel/ai/pull/12425 (2026-02-11)',
    vendor: undefined,
    usage: {
      prompt_tokens: 12,
      completion_tokens: 1,
      total_tokens: 399,
      completion_tokens_details: { reasoning_tokens: 386 },
    },
    expected: [12, null, 387, 386],
  },
  {
    source: 'Gemini, https://discuss.ai.google.dev/t/127400 (2026-02)',
    vendor: 'gemini',
    usage: { completion_tokens: 1, prompt_tokens: 9, total_tokens: 103 },
    expected: [9, null, 94, 93],
  },
  {
    source: 'Gemini through CLIProxyAPI, https://github.com/router-for-me/CLIProxyAPI/issues/5733',
    vendor: undefined,
    usage: {
      completion_tokens: 0,
      total_tokens: 81,
      prompt_tokens: 21,
      completion_tokens_details: { reasoning_tokens: 60 },
    },
    expected: [21, null, 60, 60],
  },
  {
    source: 'Gemini through any-llm, https://github.com/mozilla-ai/any-llm/pull/1291 (2026-08-16)',
    vendor: 'gemini',
    usage: {
      prompt_tokens: 20,
      completion_tokens: 533,
      total_tokens: 553,
      completion_tokens_details: { reasoning_tokens: 382 },
    },
    expected: [20, null, 533, 382],
  },
  {
    source: 'DeepSeek, https://api-docs.deepseek.com/api/create-chat-completion (2026-11)',
    vendor: 'deepseek',
    usage: {
      prompt_tokens: 20,
      completion_tokens: 7,
      total_tokens: 27,
      prompt_cache_hit_tokens: 12,
      prompt_cache_miss_tokens: 8,
      completion_tokens_details: { reasoning_tokens: 5 },
    },
    expected: [20, 12, 7, 5],
  },
  {
    source: 'Kimi, https://github.com/earendil-works/pi/issues/8075 (2026-08-13)',
    vendor: 'kimi',
    usage: { prompt_tokens: 19, completion_tokens: 13, total_tokens: 32, cached_tokens: 12 },
    expected: [19, 12, 13, null],
  },
  {
    source: 'Kimi, https://github.com/aallan/vera-bench/pull/97 (2026-07-24)',
    vendor: 'kimi',
    usage: { prompt_tokens: 19, completion_tokens: 21, total_tokens: 40, cached_tokens: 10 },
    expected: [19, 10, 21, null],
  },
  {
    source: 'OpenRouter, https://github.com/enricoros/big-AGI/issues/940',
    vendor: undefined,
    usage: {
      prompt_tokens: 8,
      completion_tokens: 11,
      total_tokens: 19,
      cost: 0.000_78,
      is_byok: false,
      prompt_tokens_details: { cached_tokens: 0 },
    },
    expected: [8, 0, 11, null],
  },
];

describe('readChatUsage', () => {
  it.each(vectors)('reads the usage of $source', ({ vendor, usage, expected }) => {
    const [inputTokens, cachedInputTokens, outputTokens, reasoningTokens] = expected;

    const counts = { inputTokens, cachedInputTokens, outputTokens, reasoningTokens };
    expect(readChatUsage(usage, vendor)).toMatchObject(counts);
  });

  it('counts the reasoning apart for a vendor that does, where a total is missing', () => {
    const usage = {
      prompt_tokens: 12,
      completion_tokens: 1,
      completion_tokens_details: { reasoning_tokens: 386 },
    };

    expect(readChatUsage(usage, 'grok').outputTokens).toBe(387);
    expect(readChatUsage(usage, 'openai').outputTokens).toBe(1);
  });

  it.each([
    ['too large by something else', 100],
    ['too small', 5],
  ])('leaves the counts alone beside a total that is %s', (_, total) => {
    const usage = {
      prompt_tokens: 12,
      completion_tokens: 8,
      total_tokens: total,
      completion_tokens_details: { reasoning_tokens: 3 },
    };

    expect(readChatUsage(usage, 'grok')).toMatchObject({ outputTokens: 8, reasoningTokens: 3 });
  });

  it.each([undefined, 'openai', 'kimi', 'deepseek', 'mistral'] as const)(
    'does not take an unexplained total for reasoning of a vendor that counts it in: %s',
    (vendor) => {
      const usage = { prompt_tokens: 12, completion_tokens: 8, total_tokens: 40 };

      expect(readChatUsage(usage, vendor)).toMatchObject({
        outputTokens: 8,
        reasoningTokens: null,
      });
    },
  );

  it.each([
    ['has no input', { completion_tokens: 8, total_tokens: 40 }, 8],
    ['has no output', { prompt_tokens: 12, total_tokens: 40 }, null],
    [
      'explains all of its total',
      { prompt_tokens: 12, completion_tokens: 28, total_tokens: 40 },
      28,
    ],
  ])('finds no reasoning in a total where a usage %s', (_, usage, outputTokens) => {
    for (const vendor of ['gemini', 'grok'] as const)
      expect(readChatUsage(usage, vendor)).toMatchObject({ outputTokens, reasoningTokens: null });
  });

  it('takes the part of a total beside input and output for reasoning, not the total', () => {
    const usage = { prompt_tokens: 12, completion_tokens: 8, total_tokens: 40 };
    const reported = { ...usage, completion_tokens_details: { reasoning_tokens: 20 } };

    const counted = { outputTokens: 28, reasoningTokens: 20 };
    expect(readChatUsage(usage, 'gemini')).toMatchObject(counted);
    expect(readChatUsage(reported, 'grok')).toMatchObject(counted);
    expect(readChatUsage(reported, undefined)).toMatchObject(counted);
  });
});
