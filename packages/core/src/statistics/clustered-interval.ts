import type { Cluster } from './clustered-standard-error.ts';
import { effectiveTrials } from './effective-trials.ts';
import { wilsonInterval } from './wilson-interval.ts';

/**
 * Computes the Wilson score interval of a mean score over clusters, at 95 %.
 *
 * Its number of trials is the effective one, of independent values that are 0 or 1.
 *
 * @param clusters - Values in 0..1.
 * @returns The bounds as ratios in 0..1, lower first; undefined for fewer than 2 clusters with values.
 * @see Franco, Little, Louis, Slud (2019), Comparative Study of Confidence Intervals for Proportions in Complex Sample
 *   Surveys, doi:10.1093/jssam/smy019, which recommends it; {@link effectiveTrials}
 */
export function clusteredInterval(
  clusters: readonly Cluster[],
): readonly [number, number] | undefined {
  const total = clusters.reduce((all, { count }) => all + count, 0);
  const mean = clusters.reduce((all, { sum }) => all + sum, 0) / total;
  const trials = effectiveTrials(clusters, mean * (1 - mean));
  return trials === undefined ? undefined : wilsonInterval(mean * trials, trials);
}
