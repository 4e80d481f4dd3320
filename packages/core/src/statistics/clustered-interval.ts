import { type Cluster, clusteredStandardError } from './clustered-standard-error.ts';
import { tQuantile } from './student-t.ts';
import { wilsonInterval, Z_95 } from './wilson-interval.ts';

/**
 * Computes the Wilson score interval of a mean score over clusters, at 95 %.
 *
 * Its number of trials is the effective one: that of independent values, 0 or 1, whose mean would have the same standard
 * error. It is lowered for few clusters, which leave that error uncertain. Where no cluster differs from another, it is the
 * number of clusters.
 *
 * @param clusters - Values in 0..1.
 * @returns The bounds as ratios in 0..1, lower first; undefined for fewer than 2 clusters with values.
 * @see Franco, Little, Louis, Slud (2019), Comparative Study of Confidence Intervals for Proportions in Complex Sample
 *   Surveys, doi:10.1093/jssam/smy019, which recommends it; Korn, Graubard (1998), Confidence Intervals for Proportions
 *   with Small Expected Number of Positive Counts Estimated from Survey Data, Survey Methodology 24, 193-201, for few
 *   clusters
 */
export function clusteredInterval(
  clusters: readonly Cluster[],
): readonly [number, number] | undefined {
  const standardError = clusteredStandardError(clusters);
  if (standardError === undefined) return undefined;
  const filled = clusters.filter(({ count }) => count > 0);
  const total = filled.reduce((sum, { count }) => sum + count, 0);
  const mean = filled.reduce((sum, each) => sum + each.sum, 0) / total;
  const few = (Z_95 / tQuantile(0.975, filled.length - 1)) ** 2;
  const effective = (few * mean * (1 - mean)) / standardError ** 2;
  const trials = standardError === 0 ? filled.length : effective;
  return wilsonInterval(mean * trials, trials);
}
