import { blockersOf, breakersFor, type OpenBreaker, type OpenBreakers } from './breaker.ts';
import { modelsOfConfig, type PlannedModels } from './config-models.ts';

/**
 * The open breakers that keep a config from being completed: those of any of its models, because some of its cells need
 * each; those of all where another model answers in place of one. None if its cells can be completed.
 *
 * @param config - Of the group, by its name.
 */
export function haltingBreakers(
  header: PlannedModels,
  config: string,
  open: OpenBreakers,
): readonly OpenBreaker[] {
  const models = modelsOfConfig(header, config);
  const failsOver = header.spec.configs.some(({ name, fail_over: f }) => name === config && f);
  if (failsOver) return blockersOf(models, open);
  return [...new Set(models.flatMap((model) => breakersFor(model, open)))];
}
