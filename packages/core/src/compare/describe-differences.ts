import { answerFactsOf } from '../change/answer-changes.ts';
import type { Config } from '../domain/benchmark.ts';
import { modelRefOf } from '../domain/breaker.ts';
import { canonicalText } from '../domain/canonical-text.ts';
import { pricesOf } from '../domain/group.ts';
import { rulingsByClass } from '../domain/ruling.ts';
import { describeChange } from '../spec/compare-specs.ts';
import type { LoadedGroup } from '../spec/load-group.ts';
import type { ComparedPair } from './comparison.ts';

/** A config under the current grading of its group. */
export interface GradedConfig {
  readonly group: Pick<LoadedGroup, 'header' | 'benchmark'>;
  readonly config: Config;
  readonly runs: readonly string[];
}

/** Lists what two configs do not have in common, besides their names: whatever answers, scores or costs depend on. */
export function describeDifferences(a: GradedConfig, b: GradedConfig): ComparedPair['differs'] {
  const [own, other] = [factsOf(a), factsOf(b)];
  return [...new Set([...Object.keys(own), ...Object.keys(other)])]
    .filter((key) => !isOfOneModel(key, own, other))
    .filter((key) => canonicalText(own[key]) !== canonicalText(other[key]))
    .map((key) => {
      const { was, is } = describeChange(key, own[key], other[key]);
      return { key, a: was, b: is };
    });
}

/** Of a model that only one of them asks, the price is no difference of its own. */
function isOfOneModel(
  key: string,
  ...sides: readonly Readonly<Record<string, unknown>>[]
): boolean {
  return key.startsWith('prices.') && sides.some((side) => !Object.hasOwn(side, key));
}

function factsOf({
  group: { header, benchmark },
  config,
  runs,
}: GradedConfig): Readonly<Record<string, unknown>> {
  const prices = pricesOf(header);
  const models = [...new Set(config.roles.map(modelRefOf))];
  return {
    ...answerFactsOf(config, { spec: header.spec, benchmark }),
    scorer: config.scorer,
    'scorer version': config.scorerVersion,
    select: config.select,
    replicates: runs.length,
    questions: header.questions.sha256,
    targets: config.targetsKey,
    rulings: rulingsByClass(config),
    ...Object.fromEntries(models.map((model) => [`prices."${model}"`, prices.get(model)])),
  };
}
