import { judgeSpecSchema } from './benchmark-spec.ts';
import type { ScorerSpec } from './scorer.ts';

const judgesSchema = judgeSpecSchema.pick({ model: true, models: true });

/**
 * The models that a scorer asks, as a spec writes them (`openai/gpt-9`): those that its table names under `model` or
 * `models`. None for a scorer that asks no model.
 */
export function judgeModelsOf(scorer: ScorerSpec): readonly string[] {
  const parsed = judgesSchema.safeParse(scorer);
  if (!parsed.success) return [];
  const { model, models } = parsed.data;
  return models ?? (model === undefined ? [] : [model]);
}
