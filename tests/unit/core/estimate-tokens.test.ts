import { estimateTokens } from '@thrice/core';
import { describe, expect, it } from 'vitest';

const user = (content: string) => ({ role: 'user' as const, content });

describe('the tokens of a request', () => {
  it.each([
    ['an English text', 'a'.repeat(400), 208],
    ['a text of three bytes a character', '漢'.repeat(100), 158],
    ['a text of four bytes a character', '😀'.repeat(100), 208],
    ['a text of two bytes a character', 'é'.repeat(100), 108],
    ['halves of characters, which are sent as U+FFFD', '\ud83d'.repeat(100), 158],
    ['no text', '', 8],
  ])('are one for two bytes of %s, and some for the message', (_, text, inputTokens) => {
    const estimate = estimateTokens({ messages: [user(text)], tools: [], maxTokens: undefined });

    expect(estimate).toEqual({ inputTokens, estimatedTokens: null });
  });

  it('count the bound of the output, images, tool calls and tools', () => {
    const messages = [
      {
        role: 'user' as const,
        content: [
          { kind: 'text' as const, text: 'ab' },
          { kind: 'image' as const, url: `data:image/png;base64,${'A'.repeat(100_000)}` },
        ],
      },
      {
        role: 'assistant' as const,
        content: '',
        toolCalls: [{ id: '1', name: 'f', arguments: '{}x' }],
      },
    ];
    const tools = [{ name: 'f', parameters: {} }];

    const estimate = estimateTokens({ messages, tools, maxTokens: 1_000 });

    const toolTokens = Math.ceil(JSON.stringify(tools).length / 2);
    expect(estimate.inputTokens).toBe(8 + 1 + 1_600 + 8 + 2 + toolTokens);
    expect(estimate.estimatedTokens).toBe(estimate.inputTokens + 1_000);
  });
});
