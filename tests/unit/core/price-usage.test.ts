import { priceUsage, type Usage } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Price } from '../../../packages/core/src/domain/price.ts';
import { highestCost } from '../../../packages/core/src/pricing/price-usage.ts';
import { aUsage } from '../../support/builders.ts';

const price = { input: 2, output: 8 };
const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 };

describe('the price of a call', () => {
  it.each<[string, Partial<Usage>, number]>([
    ['input and output', million, 10],
    ['nothing', { inputTokens: 0, outputTokens: 0 }, 0],
    [
      'cached and written input like any other where they have no rate',
      { ...million, cachedInputTokens: 500_000, cacheWriteTokens: 100_000 },
      10,
    ],
    ['reasoning as part of the output', { ...million, reasoningTokens: 900_000 }, 10],
    [
      'a cached part that is larger than the input as all of it',
      { ...million, cachedInputTokens: 2e6 },
      10,
    ],
  ])('counts %s', (_, usage, expected) => {
    expect(priceUsage(price, aUsage(usage))).toBe(expected);
  });

  it('counts cached input at its own rate', () => {
    const cached = { ...price, cached_input: 0.5 };

    expect(priceUsage(cached, aUsage({ ...million, cachedInputTokens: 500_000 }))).toBe(9.25);
    expect(priceUsage(cached, aUsage({ ...million, cachedInputTokens: null }))).toBe(10);
  });

  it('counts cache writes at the rate of their lifetime', () => {
    const anthropic = {
      input: 3,
      cached_input: 0.3,
      cache_write: 3.75,
      long_cache_write: 6,
      output: 15,
    };
    const usage = { ...million, cachedInputTokens: 500_000, cacheWriteTokens: 400_000 };

    expect(priceUsage(anthropic, aUsage(usage))).toBeCloseTo(0.3 + 0.15 + 1.5 + 15, 12);
    const isLong = aUsage({ ...usage, longCacheWriteTokens: 100_000 });
    expect(priceUsage(anthropic, isLong)).toBeCloseTo(0.3 + 0.15 + 1.125 + 0.6 + 15, 12);
  });

  it('counts reasoning at its own rate', () => {
    const apart = { ...price, reasoning: 20 };

    expect(priceUsage(apart, aUsage({ ...million, reasoningTokens: 250_000 }))).toBe(13);
    expect(priceUsage(apart, aUsage(million))).toBeNull();
  });

  it('counts all of a call with a long input at the rates of its tier', () => {
    const gemini: Price = {
      input: 2,
      cached_input: 0.2,
      output: 12,
      tiers: [{ above: 200_000, input: 4, cached_input: 0.4, output: 18 }],
    };
    const usage = { cachedInputTokens: 100_000, outputTokens: 1_000_000 };

    expect(priceUsage(gemini, aUsage({ ...usage, inputTokens: 200_000 }))).toBeCloseTo(12.22, 12);
    expect(priceUsage(gemini, aUsage({ ...usage, inputTokens: 200_001 }))).toBeCloseTo(
      18.440_004,
      12,
    );
  });

  it.each<[string, Price, string | null, number | null]>([
    ['no tier', { ...price, service_tiers: {} }, null, 10],
    ['the standard tier by another name', { ...price, service_tiers: {} }, 'default', 10],
    ['a factor', { ...price, service_tiers: { flex: 0.5 } }, 'flex', 5],
    ['rates', { ...price, service_tiers: { priority: { input: 3, output: 9 } } }, 'priority', 12],
    ['a tier that is not listed', { ...price, service_tiers: { flex: 0.5 } }, 'scale', null],
    ['any tier of a price that lists none', price, 'on_demand', 10],
    ['a batch', { ...price, batch: 0.5 }, 'batch', 5],
    ['a batch without a price', price, 'batch', null],
    ['a batch beside service tiers', { ...price, service_tiers: { batch: 2 } }, 'batch', null],
  ])('is that of the service tier: %s', (_, table, serviceTier, expected) => {
    expect(priceUsage(table, aUsage({ ...million, serviceTier }))).toBe(expected);
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
});

const rate = fc.double({ min: 0, max: 1000, noNaN: true });
const optional = (rates: fc.Arbitrary<number>) => fc.option(rates, { nil: undefined });
const rateFields = {
  input: rate,
  cached_input: optional(rate),
  cache_write: optional(rate),
  long_cache_write: optional(rate),
  output: rate,
  reasoning: optional(rate),
};
const anyPrice: fc.Arbitrary<Price> = fc.record({
  ...rateFields,
  tiers: fc.option(
    fc.array(fc.record({ above: fc.integer({ min: 1, max: 300_000 }), ...rateFields }), {
      maxLength: 3,
    }),
    { nil: undefined },
  ),
  batch: optional(rate),
  service_tiers: fc.option(fc.dictionary(fc.constantFrom('flex', 'priority'), rate), {
    nil: undefined,
  }),
});
const tokens = fc.nat({ max: 400_000 });
const tier = fc.constantFrom('flex', 'priority', 'batch', 'default', null);
/** Parts are no more than the whole. */
const anyUsage: fc.Arbitrary<Usage> = fc
  .record({
    fresh: tokens,
    cached: tokens,
    short: tokens,
    long: tokens,
    said: tokens,
    thought: tokens,
    tier,
  })
  .map(({ fresh, cached, short, long, said, thought, tier: serviceTier }) => ({
    inputTokens: fresh + cached + short + long,
    cachedInputTokens: cached,
    cacheWriteTokens: short + long,
    longCacheWriteTokens: long,
    outputTokens: said + thought,
    reasoningTokens: thought,
    serviceTier,
  }));

describe('the price of any call', () => {
  it('is unknown exactly when something that it needs is', () => {
    const unknowns = fc.subarray([
      'inputTokens',
      'outputTokens',
      'reasoningTokens',
      'cachedInputTokens',
      'cacheWriteTokens',
    ] as const);
    fc.assert(
      fc.property(anyPrice, anyUsage, unknowns, ({ tiers: _, ...table }, usage, unknown) => {
        const needed = [
          'inputTokens',
          'outputTokens',
          ...(table.reasoning === undefined ? [] : ['reasoningTokens']),
        ];
        const isMissing =
          !hasPriceFor(table, usage) || unknown.some((name) => needed.includes(name));

        const nulls = Object.fromEntries(unknown.map((name) => [name, null]));
        const costUsd = priceUsage(table, { ...usage, ...nulls });

        expect(costUsd === null).toBe(isMissing);
      }),
    );
  });

  it('adds up: two calls at the same rates cost what their tokens cost in one', () => {
    fc.assert(
      fc.property(anyPrice, anyUsage, anyUsage, ({ tiers: _, ...table }, first, second) => {
        const together = {
          inputTokens: sum(first.inputTokens, second.inputTokens),
          cachedInputTokens: sum(first.cachedInputTokens, second.cachedInputTokens),
          cacheWriteTokens: sum(first.cacheWriteTokens, second.cacheWriteTokens),
          longCacheWriteTokens: sum(first.longCacheWriteTokens, second.longCacheWriteTokens),
          outputTokens: sum(first.outputTokens, second.outputTokens),
          reasoningTokens: sum(first.reasoningTokens, second.reasoningTokens),
          serviceTier: null,
        };

        const costs = [first, second].map(
          (usage) => priceUsage(table, { ...usage, serviceTier: null }) ?? Number.NaN,
        );
        const apart = sum(costs[0] ?? null, costs[1] ?? null);

        expect(priceUsage(table, together)).toBeCloseTo(apart, 6);
      }),
    );
  });

  it('never falls when a part of the tokens grows, in the same tier', () => {
    const part = fc.constantFrom('inputTokens', 'outputTokens');
    fc.assert(
      fc.property(
        anyPrice,
        anyUsage,
        part,
        fc.nat(10_000),
        ({ tiers: _, ...table }, usage, name, more) => {
          const costUsd = priceUsage(table, usage);
          const grown = priceUsage(table, { ...usage, [name]: (usage[name] ?? 0) + more });

          expect(costUsd === null).toBe(grown === null);
          expect(grown ?? 0).toBeGreaterThanOrEqual((costUsd ?? 0) - 1e-9);
          expect(costUsd ?? 0).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });
});

describe('the highest cost of a call', () => {
  it('is at least that of every call within its bounds, and known with it', () => {
    fc.assert(
      fc.property(anyPrice, anyUsage, tokens, tokens, (table, usage, input, output) => {
        const bounds = {
          inputTokens: (usage.inputTokens ?? 0) + input,
          outputTokens: (usage.outputTokens ?? 0) + output,
          serviceTier: usage.serviceTier ?? undefined,
        };

        const highest = highestCost(table, bounds);
        const costUsd = priceUsage(table, usage);

        expect(highest === null).toBe(costUsd === null);
        expect(highest ?? 0).toBeGreaterThanOrEqual((costUsd ?? 0) - 1e-9);
      }),
    );
  });

  it('is that of the input at its dearest and the output in full', () => {
    const anthropic = { input: 3, cached_input: 0.3, cache_write: 3.75, output: 15 };
    const bounds = { inputTokens: 1_000_000, outputTokens: 100_000, serviceTier: undefined };

    expect(highestCost(anthropic, bounds)).toBe(5.25);
  });
});

function hasPriceFor({ batch, service_tiers: tiers }: Price, { serviceTier }: Usage): boolean {
  if (serviceTier === 'batch') return batch !== undefined;
  return tiers === undefined || serviceTier === null || serviceTier in { default: 1, ...tiers };
}

function sum(left: number | null, right: number | null): number {
  return (left ?? 0) + (right ?? 0);
}
