import { type Cluster, clusteredStandardError } from './clustered-standard-error.ts';

/**
 * The number of independent values whose mean would have the standard error of values that come in clusters.
 *
 * @param variance - Of the values, >= 0.
 * @returns At most the number of values, and the number of clusters where no value differs from another; undefined for
 *   fewer than 2 clusters with values.
 * @see Kish (1965), Survey Sampling, section 8.2 (design effect); {@link clusteredStandardError}
 */
export function effectiveTrials(
  clusters: readonly Cluster[],
  variance: number,
): number | undefined {
  const standardError = clusteredStandardError(clusters);
  if (standardError === undefined) return undefined;
  const filled = clusters.filter(({ count }) => count > 0);
  const total = filled.reduce((sum, { count }) => sum + count, 0);
  return variance < NO_VARIANCE ? filled.length : Math.min(total, variance / standardError ** 2);
}

/** What rounding may leave of a variance of 0. */
const NO_VARIANCE = 1e-12;
