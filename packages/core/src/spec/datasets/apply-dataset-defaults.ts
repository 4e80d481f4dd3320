import type { BenchmarkSpec } from '../../domain/benchmark-spec.ts';
import type { DatasetRegistry } from './dataset.ts';

/**
 * Fills in how a dataset is asked and graded where the configs of a spec do not say it.
 *
 * The spec is stored with them, so that a group keeps its prompts whatever later versions use. A config with a
 * system message or a prompt of its own gets neither from the dataset.
 */
export function applyDatasetDefaults(
  spec: BenchmarkSpec,
  datasets: DatasetRegistry,
): BenchmarkSpec {
  const { questions } = spec;
  if (typeof questions === 'string' || !('dataset' in questions)) return spec;
  const dataset = datasets.get(questions.dataset);
  if (dataset === undefined) return spec;
  const { system, prompt, parser, scorer } = dataset.defaults;
  const hasParameters = Object.keys(scorer).length > 1;
  const asks = {
    ...(system !== undefined && { system }),
    ...(prompt !== undefined && { prompt }),
    ...(parser !== undefined && { parser }),
  };
  return {
    ...spec,
    scorers: hasParameters ? { [dataset.name]: scorer, ...spec.scorers } : spec.scorers,
    configs: spec.configs.map((config) => ({
      ...(hasOwnPrompt(config) ? {} : asks),
      ...config,
      scorer: config.scorer ?? (hasParameters ? dataset.name : scorer.kind),
    })),
  };
}

function hasOwnPrompt({
  system,
  prompt,
  prompt_file: file,
}: BenchmarkSpec['configs'][number]): boolean {
  return system !== undefined || prompt !== undefined || file !== undefined;
}
