import { type Cluster, clusteredStandardError } from './clustered-standard-error.ts';
import { tQuantile } from './student-t.ts';
import { Z_95 } from './wilson-interval.ts';

/**
 * The number of independent values whose mean would have the standard error of values that come in clusters, lowered for few
 * clusters, which leave that error uncertain.
 *
 * @param variance - Of the values, >= 0.
 * @returns At most the number of values, and the number of clusters where no value differs from another; undefined for
 *   fewer than 2 clusters with values.
 * @see Korn & Graubard (1998), Confidence Intervals for Proportions with Small Expected Number of Positive Counts Estimated
 *   from Survey Data, Survey Methodology 24, 193-201; {@link clusteredStandardError}
 */
export function effectiveTrials(
  clusters: readonly Cluster[],
  variance: number,
): number | undefined {
  const standardError = clusteredStandardError(clusters);
  if (standardError === undefined) return undefined;
  const filled = clusters.filter(({ count }) => count > 0);
  const total = filled.reduce((sum, { count }) => sum + count, 0);
  if (variance < NO_VARIANCE) return filled.length;
  const few = (Z_95 / tQuantile(0.975, filled.length - 1)) ** 2;
  return Math.min(total, (few * variance) / standardError ** 2);
}

/** What rounding may leave of a variance of 0. */
const NO_VARIANCE = 1e-12;
