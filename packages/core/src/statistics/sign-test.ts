import { mcnemarTest } from './mcnemar-test.ts';
import type { PValue } from './p-value.ts';

/**
 * Computes the exact two-sided p-value of the sign test: whether differences are above 0 as often as below. Those that are
 * 0 do not count, and how large they are does not matter; of single replicates that are right or wrong, it is McNemar's test.
 *
 * @see Dixon, Mood (1946), The Statistical Sign Test, doi:10.1080/01621459.1946.10501898
 */
export function signTest(differences: readonly number[]): PValue {
  const above = differences.filter((difference) => difference > 0).length;
  const below = differences.filter((difference) => difference < 0).length;
  return mcnemarTest(above, below);
}
