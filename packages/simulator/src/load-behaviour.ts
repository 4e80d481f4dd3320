import * as z from 'zod';
import { readJsonFile } from './read-input-file.ts';

const ratioSchema = z.number().min(0).max(1);
const amountSchema = z.number().min(0);

const distributionSchema = z.union(
  [
    z.strictObject({ fixed: amountSchema }),
    z
      .strictObject({ median: amountSchema, p99: amountSchema.optional() })
      .refine(({ median, p99 }) => p99 === undefined || p99 >= median, 'expected p99 >= median'),
  ],
  { error: 'expected {"fixed": n} or {"median": n, "p99"?: n}, n >= 0' },
);
/** A fixed or log-normally distributed amount. `p99` defaults to 4 times the median. */
export type Distribution = z.infer<typeof distributionSchema>;

const judgeBehaviourSchema = z.strictObject({
  /** Share of answers of more than 150 words that it accepts for their length. Absent: 0. */
  prefersLong: ratioSchema.optional(),
  /** Share of answers which ask for a yes that it accepts for that. Absent: 0. */
  obeysAnswer: ratioSchema.optional(),
  /** Share of comparisons of two answers in which it takes the first for being the first. Absent: 0. */
  prefersFirst: ratioSchema.optional(),
});
/** What a judge lets itself be moved by; nothing at all is a fair judge. */
export type JudgeBehaviour = z.infer<typeof judgeBehaviourSchema>;

const modelBehaviourSchema = z.strictObject({
  /**
   * Share of questions with a known target that are answered correctly; of a judge, the share of verdicts that it does not
   * flip.
   */
  accuracy: ratioSchema,
  /** It judges the answers of others. Absent: it answers questions. */
  judge: judgeBehaviourSchema.optional(),
  /** Time to the last byte, milliseconds. Absent: 0. */
  latencyMs: distributionSchema.optional(),
  /** Tokens of the visible answer. Absent: estimated from the text. */
  outputTokens: distributionSchema.optional(),
  /** Tokens of hidden reasoning, billed as output. Absent: none. */
  reasoningTokens: distributionSchema.optional(),
  /** Share of answers without a result, or of a judge's replies that are no verdict. Absent: 0. */
  unparsedRate: ratioSchema.optional(),
  /** `bare` returns only the result; `sentence` ends with "The answer is X.". Absent: `bare`. */
  style: z.enum(['bare', 'sentence']).optional(),
  /** Refuses structured output as this server does. Absent: it has it. */
  refusesStructuredOutput: z.enum(['openai', 'vllm', 'llama.cpp', 'ollama']).optional(),
});
/** How one model behaves. */
export type ModelBehaviour = z.infer<typeof modelBehaviourSchema>;

const behaviourSchema = z.strictObject({
  seed: z.int(),
  models: z
    .record(z.string().min(1), modelBehaviourSchema)
    .refine((models) => Object.keys(models).length > 0, 'expected at least one model'),
});
/** Simulated models by name; `*` stands for every name not listed. */
export type Behaviour = z.infer<typeof behaviourSchema>;

/**
 * Loads a behaviour file.
 *
 * @param path - JSON: `{ seed, models: { "<name>" or "*": { accuracy, ... } } }`.
 * @throws {ThriceError} `invalid-file` naming key path, expected and received.
 */
export async function loadBehaviour(path: string): Promise<Behaviour> {
  return await readJsonFile(path, behaviourSchema);
}
