import { expandedTail } from './expanded-tail.ts';
import { quantile } from './quantile.ts';

/** Enough for the bounds to vary by a tenth of their distance. */
const RESAMPLES = 1_000;

/**
 * Computes the bootstrap interval of a statistic of clustered items, at 95 %, between quantiles of its resamples: see
 * {@link expandedTail}.
 *
 * Whole clusters are drawn, because items of one cluster, such as the answers to one question, may depend on each other.
 * A resample without the statistic, such as a kappa of ratings that are all the same, does not count.
 *
 * @param statistic - Reads its items before it returns; undefined for items that have none.
 * @param random - Uniform numbers in 0 <= x < 1; the same ones give the same interval.
 * @returns Lower bound first; undefined for fewer than 2 clusters, or where no resample has the statistic.
 * @see Efron & Tibshirani (1993), An Introduction to the Bootstrap, doi:10.1201/9780429246593, section 13.3;
 *   Davison & Hinkley (1997), doi:10.1017/CBO9780511802843, section 3.8, for clusters
 */
export function bootstrapInterval<Item>(
  clusters: readonly (readonly Item[])[],
  statistic: (items: readonly Item[]) => number | undefined,
  random: () => number,
): readonly [number, number] | undefined {
  const filled = clusters.filter(({ length }) => length > 0);
  if (filled.length < 2) return undefined;
  const values: number[] = [];
  const drawn: Item[] = [];
  for (let resample = 0; resample < RESAMPLES; resample += 1) {
    drawn.length = 0;
    for (const _ of filled) {
      const cluster = filled[Math.floor(random() * filled.length)] ?? [];
      for (const item of cluster) drawn.push(item);
    }
    const value = statistic(drawn);
    if (value !== undefined) values.push(value);
  }
  values.sort((left, right) => left - right);
  const tail = expandedTail(filled.length);
  const [lower, upper] = [quantile(values, tail), quantile(values, 1 - tail)];
  return lower === undefined || upper === undefined ? undefined : [lower, upper];
}
