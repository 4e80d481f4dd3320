import { expandedTail } from './expanded-tail.ts';
import { quantile } from './quantile.ts';

/** The least for which bounds are usually reported: they then vary by a fiftieth of their distance. */
const RESAMPLES = 10_000;

/**
 * Computes the bootstrap interval of a mean difference, at 95 %. It draws whole questions, with all their replicates.
 *
 * It takes quantiles of the means of resamples, a little further out than 2.5 and 97.5 %: {@link expandedTail}.
 *
 * @param differences - One per question, of means over replicates: those of `pairedDifferences`.
 * @param random - Uniform numbers in 0 <= x < 1; the same ones give the same interval.
 * @returns Lower bound first; undefined for fewer than 2 questions.
 * @see Efron, Tibshirani (1993), An Introduction to the Bootstrap, doi:10.1201/9780429246593, section 13.3
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
  const tail = expandedTail(count);
  return [quantile(means, tail) ?? 0, quantile(means, 1 - tail) ?? 0];
}
