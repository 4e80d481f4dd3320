import {
  type CallPool,
  type Estimate,
  type EstimatedPlan,
  estimatePlan,
  findReused,
  type GroupHeader,
  type ReusedCells,
} from '@thrice/core';
import { createNodeDigest } from '@thrice/local';
import type { PreparedRun } from './prepare-run.ts';

/** Estimates what a prepared run will take. */
export function estimateRun(
  { benchmark, checked, skipped }: Pick<PreparedRun, 'benchmark' | 'checked' | 'skipped'>,
  known: Pick<EstimatedPlan, 'pilot' | 'reused' | 'isOnStage'> = {},
): Estimate {
  const { promptSizes } = checked;
  const cellCounts = new Map([...checked.cellCounts].filter(([config]) => !skipped.has(config)));
  return estimatePlan({ benchmark, cellCounts, promptSizes, ...known });
}

/** Finds the cells of a prepared run whose calls are taken from groups. */
export async function findReusedCells(
  { benchmark, source, spec }: Pick<PreparedRun, 'benchmark' | 'source' | 'spec'>,
  groups: readonly GroupHeader[],
  { pool }: { readonly pool: CallPool },
): Promise<ReadonlyMap<string, ReusedCells>> {
  if (groups.length === 0) return new Map();
  const plan = { benchmark, source, select: spec.select, groups };
  return await findReused(plan, { pool, createDigest: createNodeDigest });
}
