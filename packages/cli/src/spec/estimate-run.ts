import {
  type BoughtCalls,
  countBought,
  type EarlierGroups,
  type Estimate,
  type EstimatedPlan,
  estimatePlan,
  ThriceError,
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
 * @throws {ThriceError} `invalid-argument` if earlier groups are named that have none of the calls: all would be bought.
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
  const bought = await countBought({ ...plan, select: spec.select }, createNodeDigest);
  if (earlier !== undefined && [...bought.values()].every(({ takingCells }) => takingCells === 0))
    throw noneToReuse(earlier.groups);
  return bought;
}

function noneToReuse(groups: EarlierGroups['groups']): ThriceError {
  const names = groups.map(({ group }) => group).join(', ');
  return new ThriceError({
    code: 'invalid-argument',
    message: `--reuse: expected calls of ${names} that this spec asks for, found none: lane, model, messages and parameters must be the same; "thrice ls" lists other groups; without --reuse everything is bought`,
  });
}
