import { type Estimate, type EstimatedPlan, estimatePlan } from '@thrice/core';
import type { PreparedRun } from './prepare-run.ts';

/** Estimates what a prepared run will take. */
export function estimateRun(
  { benchmark, checked, skipped }: Pick<PreparedRun, 'benchmark' | 'checked' | 'skipped'>,
  known: Pick<EstimatedPlan, 'pilot' | 'isOnStage'> = {},
): Estimate {
  const { promptSizes } = checked;
  const cellCounts = new Map([...checked.cellCounts].filter(([config]) => !skipped.has(config)));
  return estimatePlan({ benchmark, cellCounts, promptSizes, ...known });
}
