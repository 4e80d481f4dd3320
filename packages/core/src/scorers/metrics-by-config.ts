import type { Config } from '../domain/benchmark.ts';
import type { MetricDeclaration } from '../domain/grade.ts';
import {
  configureGrading,
  declaredMetrics,
  type ScorerRegistry,
  scorersOf,
} from '../domain/scorer.ts';
import { scorerRegistry } from './registry.ts';

/** The metrics that the scorers of configs declare, by config; none for a scorer that this release does not have. */
export function metricsByConfig(
  configs: readonly Pick<Config, 'name' | 'scorer'>[],
  registry: ScorerRegistry = scorerRegistry,
): ReadonlyMap<string, readonly MetricDeclaration[]> {
  return new Map(
    configs.map(({ name, scorer }) => [
      name,
      scorersOf(scorer)
        .filter(({ kind }) => registry.has(kind))
        .flatMap((each) => declaredMetrics(configureGrading(each, registry))),
    ]),
  );
}
