import type { LoadedGroup, PlanEdit, SpecOverrides } from '@thrice/core';
import type { EngineOptions } from '../engine/engine.ts';
import type { Terminal } from '../shell/terminal.ts';
import { prepareRun } from './prepare-run.ts';
import { readSpecFile } from './read-spec-file.ts';

/** Options of `thrice resume` that edit the plan of a group. */
export interface EditOptions extends EngineOptions {
  readonly budgetUsd?: number | 'none';
  readonly configs?: readonly string[];
  readonly limit?: number;
  readonly replicates?: number;
}

/**
 * Checks an edited spec as `thrice run` does, with the options that the group was planned with.
 *
 * @param options - Replace those options.
 * @throws {ThriceError} For anything wrong in the spec, its questions, keys or options; nothing has been changed.
 */
export async function prepareEdit(
  terminal: Terminal,
  group: LoadedGroup,
  file: string,
  options: EditOptions,
): Promise<PlanEdit> {
  const { header } = group;
  const { budgetUsd: earlierBudgetUsd, ...earlier } = header.overrides;
  const budgetUsd =
    options.budgetUsd === undefined
      ? await keptBudget(terminal, file, earlierBudgetUsd)
      : options.budgetUsd;
  const overrides: SpecOverrides = {
    ...earlier,
    ...(budgetUsd === undefined ? {} : { budgetUsd }),
    ...(options.configs === undefined ? {} : { configs: [...options.configs] }),
    ...(options.limit === undefined ? {} : { limit: options.limit }),
    ...(options.replicates === undefined ? {} : { replicates: options.replicates }),
  };
  // A stage has its own keys, and skips no config for the lack of one here.
  const { skipMissingKeys, ...inStage } = overrides;
  const { dir, stage } = options;
  const own = stage === undefined ? { ...inStage, skipMissingKeys } : { ...inStage, stage };
  const planned = header.configs.filter(({ cells }) => cells > 0).map(({ config }) => config);
  const prepared = await prepareRun(
    terminal,
    file,
    { ...own, dir, label: header.label },
    new Set(planned),
  );
  return { ...prepared, draft: { ...prepared.draft, overrides }, group };
}

/** A budget that was given as an option holds until the spec names one. */
async function keptBudget(
  terminal: Terminal,
  file: string,
  earlierBudgetUsd: SpecOverrides['budgetUsd'],
): Promise<SpecOverrides['budgetUsd']> {
  if (earlierBudgetUsd === undefined) return undefined;
  const { spec } = await readSpecFile(file, terminal.workingFolder);
  return spec.budget_usd === undefined ? earlierBudgetUsd : undefined;
}
