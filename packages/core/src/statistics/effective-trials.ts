import { type Cluster, clusteredStandardError } from './clustered-standard-error.ts';
import { tQuantile } from './student-t.ts';
import { Z_95 } from './wilson-interval.ts';

/**
 * The number of independent values whose mean would have the standard error of values that come in clusters. It is lowered
 * for few clusters, which leave that error uncertain.
 *
 * @param variance - Of independent values, >= 0.
 * @returns The number of clusters where none differs from another; undefined for fewer than 2 clusters with values.
 * @see Korn, Graubard (1998), Confidence Intervals for Proportions with Small Expected Number of Positive Counts Estimated
 *   from Survey Data, Survey Methodology 24, 193-201
 */
export function effectiveTrials(
  clusters: readonly Cluster[],
  variance: number,
): number | undefined {
  const standardError = clusteredStandardError(clusters);
  if (standardError === undefined) return undefined;
  const clusterCount = clusters.filter(({ count }) => count > 0).length;
  return trialsOfStandardError(standardError, clusterCount, variance);
}

/**
 * {@link effectiveTrials} of clusters whose standard error is known.
 *
 * @param clusterCount - Clusters with values, >= 2.
 */
export function trialsOfStandardError(
  standardError: number,
  clusterCount: number,
  variance: number,
): number {
  if (standardError < ROUNDING) return clusterCount;
  const few = (Z_95 / tQuantile(0.975, clusterCount - 1)) ** 2;
  return (few * variance) / standardError ** 2;
}

/** More than rounding leaves of a standard error of 0, and less than any other one. */
const ROUNDING = 1e-9;
