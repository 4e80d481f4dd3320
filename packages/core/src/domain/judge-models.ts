import { judgeSpecSchema } from './benchmark-spec.ts';
import { mapScorers, type ScorerSpec, scorersOf } from './scorer.ts';

const judgesSchema = judgeSpecSchema.pick({ model: true, models: true });

/**
 * The models that a scorer asks, as a spec writes them (`openai/gpt-9`): those that its table names under `model` or
 * `models`. None for a scorer that asks no model.
 */
export function judgeModelsOf(scorer: ScorerSpec): readonly string[] {
  return modelsIn(judgedScorerOf(scorer));
}

/** The scorer that asks models: itself, or the one that its table names for some questions. */
export function judgedScorerOf(scorer: ScorerSpec): ScorerSpec | undefined {
  return scorersOf(scorer).find((each) => modelsIn(each).length > 0);
}

/**
 * What decides which answers models are asked about, and how. Scorers that have it in common may share verdicts, however
 * they grade the rest.
 */
export function judgedPartOf(scorer: ScorerSpec): object | undefined {
  const judged = judgedScorerOf(scorer);
  if (judged === undefined || judged === scorer) return judged;
  const asks = mapScorers(scorer, (each) => ({
    kind: modelsIn(each).length > 0 ? 'asks' : 'asks-nobody',
  }));
  return { asks, judged };
}

/** A scorer whose judges are changed: itself, or the one that its table names for some questions. */
export function withJudges(
  scorer: ScorerSpec,
  change: (judged: ScorerSpec) => ScorerSpec,
): ScorerSpec {
  return mapScorers(scorer, (each) => (modelsIn(each).length > 0 ? change(each) : each));
}

function modelsIn(scorer: ScorerSpec | undefined): readonly string[] {
  const { data } = judgesSchema.safeParse(scorer);
  if (data === undefined) return [];
  const { model, models } = data;
  return models ?? (model === undefined ? [] : [model]);
}
