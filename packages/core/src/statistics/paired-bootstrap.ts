import { normalShare } from './normal-share.ts';
import { quantile } from './quantile.ts';
import { tQuantile } from './student-t.ts';

/** The least for which bounds are usually reported: they then vary by a fiftieth of their distance. */
const RESAMPLES = 10_000;

/**
 * Computes the bootstrap interval of a mean difference, at 95 %. It draws whole questions, with all their replicates.
 *
 * It takes quantiles of the means of resamples; a little further out than 2.5 and 97.5 %, because a resample spreads less
 * than the questions, and because few questions leave the spread uncertain. The plain quantiles cover too little at n = 30.
 *
 * @param differences - One per question, of means over replicates: those of `pairedDifferences`.
 * @param random - Uniform numbers in 0 <= x < 1; the same ones give the same interval.
 * @returns Lower bound first; undefined for fewer than 2 questions.
 * @see Hesterberg (2015), What Teachers Should Know About the Bootstrap, doi:10.1080/00031305.2015.1089789, section 4.1.4
 *   (expanded percentile interval); Efron, Tibshirani (1993), doi:10.1201/9780429246593, section 13.3
 */
export function pairedBootstrap(
  differences: readonly number[],
  random: () => number,
): readonly [number, number] | undefined {
  const count = differences.length;
  if (count < 2) return undefined;
  const values = Float64Array.from(differences);
  const means = new Float64Array(RESAMPLES);
  for (let resample = 0; resample < RESAMPLES; resample += 1) {
    let sum = 0;
    for (let draw = 0; draw < count; draw += 1) sum += values[(random() * count) | 0] ?? 0;
    means[resample] = sum / count;
  }
  means.sort();
  const tail = normalShare(-Math.sqrt(count / (count - 1)) * tQuantile(0.975, count - 1));
  return [quantile(means, tail) ?? 0, quantile(means, 1 - tail) ?? 0];
}
