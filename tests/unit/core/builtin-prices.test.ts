import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUILTIN_PRICES_VERSION, builtinLanes, priceUsage } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type Price, priceSchema } from '../../../packages/core/src/domain/price.ts';
import { builtinPrice } from '../../../packages/core/src/pricing/builtin-price.ts';
import { builtinPriceLists } from '../../../packages/core/src/pricing/builtin-prices.ts';
import { aUsage } from '../../support/builders.ts';
import { hasSharedData, sharedDataDir } from '../../support/shared-data.ts';

const rows = builtinPriceLists.flatMap(({ prices, ...list }) =>
  Object.entries(prices).map(([model, price]) => ({ ...list, model, price })),
);

describe('the built-in prices', () => {
  it.each(builtinPriceLists)('of $lane, $date, have a page, a day and valid prices', (list) => {
    expect(builtinLanes).toHaveProperty(list.lane);
    expect(list.source).toMatch(/^https:\/\//);
    expect(z.iso.date().parse(list.date) <= BUILTIN_PRICES_VERSION).toBe(true);
    for (const price of Object.values(list.prices)) expect(priceSchema.parse(price)).toEqual(price);
  });

  it('cover every built-in lane, each model once', () => {
    const names = rows.map(({ lane, model }) => `${lane}/${model}`);

    expect(new Set(rows.map(({ lane }) => lane))).toEqual(new Set(Object.keys(builtinLanes)));
    expect(names.filter((name, index) => names.indexOf(name) < index)).toEqual([]);
  });

  it('say of every service tier what it costs, or that it is unknown', () => {
    expect(rows.filter(({ price }) => price.service_tiers === undefined)).toEqual([]);
  });

  it('cost no more for cached input, and no less for written or longer input', () => {
    const odd = rows.filter(({ price }) => !isOrdered(price));

    expect(odd).toEqual([]);
  });
});

function isOrdered({ tiers = [], ...base }: Price): boolean {
  const all = [base, ...tiers];
  return all.every(
    (rates, index) =>
      (rates.cached_input ?? 0) <= rates.input &&
      (rates.cache_write ?? rates.input) >= rates.input &&
      (rates.long_cache_write ?? rates.input) >= rates.input &&
      rates.input >= (all[index - 1]?.input ?? 0) &&
      rates.output >= (all[index - 1]?.output ?? 0),
  );
}

describe('the built-in price of a model', () => {
  it.each([
    ['openai', 'gpt-5.2', 1.75],
    ['openai', 'gpt-5.2-2025-12-11', 1.75],
    ['openai', 'gpt-5.2-pro-2025-12-11', 21],
    ['openai', 'gpt-4o-2024-05-13', 5],
    ['openai', 'gpt-4o-2024-08-06', 2.5],
    ['anthropic', 'claude-haiku-4-5-20251001', 1],
    ['mistral', 'mistral-large-2512', 0.5],
  ])(
    'is the one under its name, or that of the model it is a snapshot of: %s/%s',
    (lane, model, input) => {
      expect(builtinPrice(lane, model)?.input).toBe(input);
    },
  );

  it.each([
    ['openai', 'gpt-5.2-preview'],
    ['openai', 'gpt-5.2-codex'],
    ['openai', 'gpt-5.2-20251211'],
    ['openai', 'ft:gpt-4.1-2025-04-14'],
    ['anthropic', 'claude-haiku-4-5-2025-10-01'],
    ['anthropic', 'claude-4'],
    ['mistral', 'mistral-large-2411'],
    ['gemini', 'gemini-2.5-pro-001'],
    ['deepseek', 'deepseek-v4-pro'],
    ['openai', 'toString'],
    ['lab', 'gpt-5.2'],
  ])('is unknown rather than guessed: %s/%s', (lane, model) => {
    expect(builtinPrice(lane, model)).toBeUndefined();
  });
});

const vectorSchema = z.array(
  z.object({
    provider: z.string(),
    model: z.string(),
    tokens_input: z.number(),
    tokens_input_cached: z.number(),
    tokens_output: z.number(),
    exact: z.boolean(),
    cost_usd: z.number(),
  }),
);
const tableSchema = z.record(
  z.string(),
  z.object({ input_cache_hit: z.number(), input_cache_miss: z.number(), output: z.number() }),
);

/** Models that the vectors price otherwise than the vendors' pages: their table was typed in once. */
const OTHERWISE = [
  'kimi-k2-turbo-preview',
  'grok-4-fast-reasoning',
  'grok-4-fast-non-reasoning',
  'mistral-large-2512',
];

describe.runIf(hasSharedData)('the vectors of another program', () => {
  const read = (name: string): unknown =>
    JSON.parse(readFileSync(join(sharedDataDir, 'sparkit', name), 'utf8'));
  const vectors = hasSharedData
    ? vectorSchema.parse(read('cost_vectors.json')).filter(({ exact }) => exact)
    : [];
  const usageOf = (vector: (typeof vectors)[number]) =>
    aUsage({
      inputTokens: vector.tokens_input,
      cachedInputTokens: vector.tokens_input_cached,
      outputTokens: vector.tokens_output,
    });

  it('cost what the built-in prices say', () => {
    const priced = vectors
      .map((vector) => ({ ...vector, lane: vector.provider.replace('google', 'gemini') }))
      .filter(({ model }) => !OTHERWISE.includes(model));
    expect(priced.length).toBeGreaterThan(25);

    for (const vector of priced) {
      const costUsd = priceUsage(builtinPrice(vector.lane, vector.model), usageOf(vector));
      expect(costUsd, `${vector.lane}/${vector.model}`).toBeCloseTo(vector.cost_usd, 12);
    }
  });

  it('cost what their own table says, as prices of a spec', () => {
    const table = tableSchema.parse(read('default_model_pricing_usd_per_mtok.json'));
    const flat = vectors.filter(
      ({ model, tokens_input }) => !(model.startsWith('gemini-3') && tokens_input > 200_000),
    );
    expect(flat.length).toBeGreaterThan(25);

    for (const vector of flat) {
      const row = table[`${vector.provider}:${vector.model}`];
      const price = row && {
        input: row.input_cache_miss,
        cached_input: row.input_cache_hit,
        output: row.output,
      };
      expect(priceUsage(price, usageOf(vector)), vector.model).toBeCloseTo(vector.cost_usd, 12);
    }
  });
});
