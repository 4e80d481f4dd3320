import * as z from 'zod';

const usdPerMillion = z.number().min(0);

/** USD per million tokens. What has no rate of its own costs what the plain input or output costs. */
const rateFields = {
  input: usdPerMillion,
  /** Input that was read from the vendor's cache. */
  cached_input: usdPerMillion.optional(),
  /** Input that was written to the vendor's cache, for its usual lifetime. */
  cache_write: usdPerMillion.optional(),
  /** Input that was written to the vendor's cache for its longer lifetime: of Anthropic, one hour. */
  long_cache_write: usdPerMillion.optional(),
  output: usdPerMillion,
  /** Reasoning, which is part of the output tokens. */
  reasoning: usdPerMillion.optional(),
};

const ratesSchema = z.strictObject(rateFields);
/** USD per million tokens; see {@link priceSchema}. */
export type Rates = z.infer<typeof ratesSchema>;

/** The rates of a whole call whose input, cached input included, has more than `above` tokens. */
const tierSchema = z.strictObject({ above: z.int().min(1), ...rateFields });

const tiersSchema = z.array(tierSchema).optional();

/** A factor on every rate, or rates of its own. */
const variantSchema = z.union(
  [z.number().min(0), z.strictObject({ ...rateFields, tiers: tiersSchema })],
  { error: 'expected a factor, as in 0.5, or a table with input and output' },
);
/** How a price differs in a service tier or in a batch; see {@link priceSchema}. */
export type PriceVariant = z.infer<typeof variantSchema>;

/** What a model costs, USD per million tokens. */
export const priceSchema = z.strictObject({
  ...rateFields,
  /** Rates of calls with a long input. */
  tiers: tiersSchema,
  /** What calls in a batch cost; without it, their cost is unknown. */
  batch: variantSchema.optional(),
  /**
   * What calls in other service tiers cost. Without it, the price is that of every service tier; with it, the cost of
   * a call in a tier that it does not list is unknown.
   */
  service_tiers: z.record(z.string().min(1), variantSchema).optional(),
});
/** What a model costs; see {@link priceSchema}. */
export type Price = z.infer<typeof priceSchema>;
