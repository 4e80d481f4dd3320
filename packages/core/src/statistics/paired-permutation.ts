/** Up to so many differences, all patterns of signs are counted: a million. */
const EXACT_COUNT = 20;
/** How many patterns are drawn for more differences; the p-value is then known to 0.2 points at 5 %. */
const PATTERNS = 10_000;
/** Sums that differ by less, relative to the sum of all sizes, are equal: their order of addition differs. */
const ROUNDING = 1e-9;

/**
 * Computes the two-sided p-value of the paired permutation test: how often the mean difference would be as far from 0 if the
 * two configs were exchanged at random for each question, with all its replicates.
 *
 * Exact up to 20 differences other than 0, which have no sign to change; above, from 10,000 random patterns and the one
 * observed, so that it is at least 1 / 10,001.
 *
 * @param differences - One per question, of means over replicates: those of `pairedDifferences`.
 * @param random - Uniform numbers in 0 <= x < 1, 32 bits each; the same ones give the same p-value.
 * @returns 1 if no difference is other than 0.
 * @see Fisher (1935), The Design of Experiments, section 21; Phipson, Smyth (2010), Permutation P-values Should Never Be
 *   Zero, doi:10.2202/1544-6115.1585
 */
export function pairedPermutation(differences: readonly number[], random: () => number): number {
  const values = Float64Array.from(differences.filter((difference) => difference !== 0));
  const total = values.reduce((sum, value) => sum + value, 0);
  const sizes = values.reduce((sum, value) => sum + Math.abs(value), 0);
  const observed = Math.abs(total) - ROUNDING * sizes;
  return values.length <= EXACT_COUNT
    ? allPatterns(values, observed)
    : (1 + somePatterns(values, total, observed, random)) / (1 + PATTERNS);
}

/** The share of all patterns, of which each differs from the one before in one sign (Gray code). */
function allPatterns(values: Float64Array, observed: number): number {
  const patterns = 2 ** values.length;
  const signed = values.slice();
  let sum = values.reduce((all, value) => all + value, 0);
  let extreme = 0;
  for (let pattern = 1; pattern <= patterns; pattern += 1) {
    if (Math.abs(sum) >= observed) extreme += 1;
    const changed = 31 - Math.clz32(pattern & -pattern);
    const value = signed[changed] ?? 0;
    signed[changed] = -value;
    sum -= 2 * value;
  }
  return extreme / patterns;
}

/** How many random patterns are as extreme as the observed one. */
function somePatterns(
  values: Float64Array,
  total: number,
  observed: number,
  random: () => number,
): number {
  let extreme = 0;
  for (let pattern = 0; pattern < PATTERNS; pattern += 1) {
    let positive = 0;
    let bits = 0;
    for (let index = 0; index < values.length; index += 1) {
      bits = index % 32 === 0 ? (random() * 0x1_0000_0000) | 0 : bits >>> 1;
      positive += (bits & 1) * (values[index] ?? 0);
    }
    if (Math.abs(2 * positive - total) >= observed) extreme += 1;
  }
  return extreme;
}
