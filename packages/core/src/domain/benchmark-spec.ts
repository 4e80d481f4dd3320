import * as z from 'zod';

/** Refuses a key that the format names but this version cannot honour: never ignored in silence. */
function unsupported(remedy: string): z.ZodOptional<z.ZodNever> {
  return z.never({ error: `not supported by this version; ${remedy}` }).optional();
}

const nameSchema = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,63}$/,
    'expected lower-case letters, digits, "_" and "-", at most 64',
  );

const configNameSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/,
    'expected letters, digits, "_", "." and "-", at most 64',
  );

const laneNameSchema = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_-]{0,31}$/,
    'expected lower-case letters, digits, "_" and "-", at most 32',
  );

/** A model server's base URL; a key in it would be stored and shown with it. */
const baseUrlSchema = z
  .url({
    protocol: /^https?$/,
    error: 'expected an http or https URL, as in http://127.0.0.1:8000/v1',
    abort: true,
  })
  .refine((url) => !/\/\/[^/]*@/.test(url), {
    error: "expected a URL without user or key; name the key's variable in api_key_env",
  });

/** The name of an environment variable, never the key; what looks like a key is refused. */
const keyVariableSchema = z
  .string()
  .refine((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !looksLikeKey(name), {
    error: 'expected the name of an environment variable, as in LAB_API_KEY, never a key',
  });

/** Some vendors' keys would pass for names: long, with digits among small letters. */
function looksLikeKey(text: string): boolean {
  return text.length >= 20 && /[a-z]/.test(text) && /\d/.test(text);
}

const secondsSchema = z.number().positive().max(86_400);

/** A deterministic subset, in file order: first `start` and `tags`, then `per_tag`, then `limit`. */
export const selectSchema = z.strictObject({
  start: z.int().min(0).default(0),
  limit: z.int().min(1).optional(),
  tags: z.record(z.string(), z.array(z.string()).min(1)).optional(),
  per_tag: z.strictObject({ tag: z.string().min(1), limit: z.int().min(1) }).optional(),
});
/** A deterministic subset of the questions. */
export type Select = z.infer<typeof selectSchema>;

const datasetSchema = z.strictObject({ dataset: z.enum(['bbh']), path: z.string().min(1) });

const laneSchema = z.strictObject({
  protocol: z
    .enum(['chat'], { error: 'expected "chat", the only protocol of this version' })
    .optional(),
  base_url: baseUrlSchema.optional(),
  endpoints: z.array(baseUrlSchema).min(1).optional(),
  api_key_env: keyVariableSchema.optional(),
  max_concurrency: z.int().min(1).max(10_000).optional(),
  timeout_s: secondsSchema.optional(),
  max_tokens_field: z.enum(['max_tokens', 'max_completion_tokens']).optional(),
  /** The bundled simulator's models, a file relative to the spec; lane `sim` only. */
  behaviour: z.string().min(1).optional(),
  /** The bundled simulator's faults, a file relative to the spec; lane `sim` only. */
  faults: z.string().min(1).optional(),
  rpm: unsupported('bound the lane with max_concurrency'),
  tpm: unsupported('bound the lane with max_concurrency'),
});

/** USD per million tokens. */
export const priceSchema = z.strictObject({
  input: z.number().min(0),
  cached_input: z.number().min(0).optional(),
  output: z.number().min(0),
});
/** USD per million tokens. */
export type Price = z.infer<typeof priceSchema>;

const plainScorerKinds = ['exact', 'choice', 'includes', 'bbh', 'numeric'] as const;

/** How an answer becomes a score; each kind is described where it is implemented. */
export const scorerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('exact') }),
  z.strictObject({ kind: z.literal('choice') }),
  z.strictObject({ kind: z.literal('includes') }),
  z.strictObject({ kind: z.literal('bbh') }),
  z.strictObject({
    kind: z.literal('numeric'),
    /** Largest absolute difference still counted as equal. */
    tolerance: z.number().min(0).default(0),
  }),
  z.strictObject({
    kind: z.literal('regex'),
    /** A JavaScript pattern; its first group, else the whole match, is the answer. */
    pattern: z.string().min(1).refine(isPattern, { error: 'expected a valid regular expression' }),
  }),
]);
/** A scorer with its parameters. */
export type ScorerSpec = z.infer<typeof scorerSchema>;

function isPattern(source: string): boolean {
  try {
    new RegExp(source, 'u');
    return true;
  } catch {
    return false;
  }
}

const configSchema = z.strictObject({
  name: configNameSchema,
  solver: z
    .enum(['direct'], { error: 'expected "direct", the only solver of this version' })
    .default('direct'),
  model: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]*\/\S+$/, 'expected lane/model, as in openai/gpt-5.2'),
  system: z.string().optional(),
  prompt: z.string().min(1).optional(),
  prompt_file: z.string().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z.int().min(1).optional(),
  stream: z.boolean().default(false),
  extra_body: z.record(z.string(), z.unknown()).optional(),
  scorer: z.string().min(1).default('exact'),
  select: selectSchema.optional(),
  confidence: unsupported('ask for it in the prompt'),
});

/**
 * A benchmark as its author writes it (TOML or JSON), in the file's own snake case.
 *
 * `resolveBenchmark` turns it into the form the rest of the program works with.
 */
export const benchmarkSpecSchema = z.strictObject({
  name: nameSchema.optional(),
  questions: z.union([z.string().min(1), z.array(z.string().min(1)).min(1), datasetSchema], {
    error: 'expected a file, a list of files, or { dataset = "bbh", path = "..." }',
  }),
  replicates: z.int().min(1).max(1000).default(1),
  parallel: z.int().min(1).max(10_000).default(64),
  max_attempts: z.int().min(1).max(1000).default(5),
  timeout_s: secondsSchema.default(120),
  coverage_floor: z.number().min(0).max(1).default(0.98),
  skip_missing_keys: z.boolean().default(false),
  budget_usd: unsupported('leave it out: a cap that is not enforced would be worse than none'),
  select: selectSchema.optional(),
  lanes: z.record(laneNameSchema, laneSchema).default({}),
  prices: z.record(z.string(), priceSchema).default({}),
  scorers: z.record(configNameSchema, scorerSchema).default({}),
  configs: z.array(configSchema).min(1),
});
/** A benchmark as its author writes it, defaults filled in. */
export type BenchmarkSpec = z.infer<typeof benchmarkSpecSchema>;
/** The scorer kinds that a config may name without a table of its own. */
export const namedScorerKinds: readonly string[] = plainScorerKinds;
