/**
 * Computes the exact two-sided p-value of McNemar's test: whether two systems differ on the pairs that only one of them
 * got right.
 *
 * @param onlyFirst - Pairs that only the first got right, integer >= 0.
 * @param onlySecond - Pairs that only the second got right, integer >= 0.
 * @returns In 0..1; 1 if they differ on no pair.
 * @see McNemar (1947), doi:10.1007/BF02295996; exact as a binomial test with probability 1/2
 */
export function mcnemarTest(onlyFirst: number, onlySecond: number): number {
  // Exactly half of all outcomes, or more: the sum of the terms would be rounded.
  if (Math.abs(onlyFirst - onlySecond) <= 1) return 1;
  const pairCount = onlyFirst + onlySecond;
  // In logarithms, because 2^-n is 0 for more than a thousand pairs.
  let logTerm = -pairCount * Math.LN2;
  let tail = Math.exp(logTerm);
  for (let count = 1; count <= Math.min(onlyFirst, onlySecond); count += 1) {
    logTerm += Math.log((pairCount - count + 1) / count);
    tail += Math.exp(logTerm);
  }
  return Math.min(1, 2 * tail);
}
