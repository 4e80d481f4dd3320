import {
  type BoughtCalls,
  countBought,
  type EarlierGroups,
  type Estimate,
  type EstimatedPlan,
  estimatePlan,
} from '@thrice/core';
import { createNodeDigest } from '@thrice/local';
import type { PreparedRun } from './prepare-run.ts';

/** Estimates what a prepared run will take. */
export function estimateRun(
  { benchmark, checked, skipped }: Pick<PreparedRun, 'benchmark' | 'checked' | 'skipped'>,
  known: Pick<EstimatedPlan, 'pilot' | 'bought' | 'isOnStage'> = {},
): Estimate {
  const { promptSizes } = checked;
  const cellCounts = new Map([...checked.cellCounts].filter(([config]) => !skipped.has(config)));
  return estimatePlan({ benchmark, cellCounts, promptSizes, ...known });
}

/**
 * Counts what the cells of a prepared run buy that take calls from earlier groups or from each other.
 *
 * @param known.isPiloted - The cells of a pilot have shared their calls already.
 * @returns Undefined if none takes any.
 */
export async function countBoughtCalls(
  { benchmark, source, spec, skipped }: PreparedRun,
  known: { readonly earlier?: EarlierGroups | undefined; readonly isPiloted?: boolean },
): Promise<ReadonlyMap<string, BoughtCalls> | undefined> {
  const earlier = known.earlier?.groups.length === 0 ? undefined : known.earlier;
  const sharesCalls = benchmark.sharesCalls && known.isPiloted !== true;
  if (earlier === undefined && !sharesCalls) return undefined;
  const configs = benchmark.configs.filter(({ name }) => !skipped.has(name));
  const plan = { benchmark: { ...benchmark, configs, sharesCalls }, source, earlier };
  return await countBought({ ...plan, select: spec.select }, createNodeDigest);
}
