import { priceUsage, type Usage } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aUsage } from '../../support/builders.ts';

const price = { input: 2, output: 8 };
const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 };
const tokens = fc.nat({ max: 1_000_000 });

describe('the price of a call', () => {
  it.each<[string, Partial<Usage>, number]>([
    ['input and output', million, 10],
    ['nothing', { inputTokens: 0, outputTokens: 0 }, 0],
    [
      'cached input like any other where it has no price',
      { ...million, cachedInputTokens: 500_000 },
      10,
    ],
    ['reasoning as part of the output', { ...million, reasoningTokens: 900_000 }, 10],
  ])('counts %s', (_, usage, expected) => {
    expect(priceUsage(price, aUsage(usage))).toBe(expected);
  });

  it('counts cached input at its own price', () => {
    const cached = { ...price, cached_input: 0.5 };

    expect(priceUsage(cached, aUsage({ ...million, cachedInputTokens: 500_000 }))).toBe(9.25);
    expect(priceUsage(cached, aUsage({ ...million, cachedInputTokens: null }))).toBe(10);
  });

  it.each<[string, Partial<Usage>]>([
    ['input', { inputTokens: null }],
    ['output', { outputTokens: null }],
  ])('is unknown without the %s tokens', (_, usage) => {
    expect(priceUsage(price, aUsage(usage))).toBeNull();
  });

  it('is unknown without a price', () => {
    expect(priceUsage(undefined, aUsage())).toBeNull();
  });

  it('is 0 for a free model', () => {
    expect(priceUsage({ input: 0, output: 0 }, aUsage())).toBe(0);
  });

  it('is never negative and grows with the tokens', () => {
    fc.assert(
      fc.property(tokens, tokens, tokens, (inputTokens, outputTokens, cached) => {
        const cachedInputTokens = Math.min(cached, inputTokens);
        const usage = aUsage({ inputTokens, outputTokens, cachedInputTokens });
        const table = { ...price, cached_input: 0.2 };

        const costUsd = priceUsage(table, usage) ?? Number.NaN;
        const more = priceUsage(table, { ...usage, outputTokens: outputTokens + 1 });

        expect(costUsd).toBeGreaterThanOrEqual(0);
        expect(costUsd).toBeLessThanOrEqual((inputTokens * 2 + outputTokens * 8) / 1e6 + 1e-12);
        expect(more).toBeGreaterThan(costUsd);
      }),
    );
  });
});
