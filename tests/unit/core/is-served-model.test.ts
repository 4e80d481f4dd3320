import { isServedModel } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

describe('an answer', () => {
  it.each([
    ['gpt-5.2', 'gpt-5.2'],
    ['gpt-5.2', 'gpt-5.2-2026-01-01'],
    ['gpt-4', 'gpt-4-0613'],
    ['claude-sonnet-4-5', 'claude-sonnet-4-5-20250929'],
    ['claude-3-7-sonnet-latest', 'claude-3-7-sonnet-20250219'],
    ['claude-3-5-sonnet', 'claude-3-5-sonnet@20240620'],
    ['gemini-1.5-pro', 'gemini-1.5-pro-002'],
    ['gemini-2.5-flash', 'models/gemini-2.5-flash'],
    ['meta-llama/Llama-3.3-70B', 'llama-3.3-70b'],
    ['mistral-large-latest', 'mistral-large-2411'],
    ['kimi-k2', 'kimi-k2-0711-preview'],
    ['gpt-5.2-2026-01-01', 'gpt-5.2'],
    ['some-model', 'some-model-v2'],
    ['anything', null],
    ['anything', ''],
  ])('to a request for %s may come from %j', (requested, served) => {
    expect(isServedModel(requested, served)).toBe(true);
  });

  it.each([
    ['gpt-5', 'gpt-5-mini'],
    ['gpt-5-mini', 'gpt-5'],
    ['gpt-5', 'gpt-5.2'],
    ['gpt-4', 'gpt-4-32k'],
    ['gpt-4', 'gpt-4o-2024-08-06'],
    ['claude-sonnet-4', 'claude-sonnet-4-5-20250929'],
    ['claude-opus-4', 'claude-opus-4-1'],
    ['llama-3', 'llama-3-70b'],
    ['llama-3.1', 'llama-3.1-405b'],
    ['qwen3', 'qwen3-32b'],
    ['model-a', 'model-b'],
    ['gpt-5', 'unknown'],
  ])('to a request for %s does not come from %s', (requested, served) => {
    expect(isServedModel(requested, served)).toBe(false);
  });

  it('may come from the model itself, whatever its owner and case, and from a dated version', () => {
    const names = fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}[a-z0-9]$/);
    const owners = fc.constantFrom('', 'owner/', 'a/b/');

    fc.assert(
      fc.property(names, owners, owners, (name, asked, served) => {
        expect(isServedModel(asked + name, served + name.toUpperCase())).toBe(true);
        expect(isServedModel(asked + name, `${served}${name}-20260101`)).toBe(true);
      }),
    );
  });
});
