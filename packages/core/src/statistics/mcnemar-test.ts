import { logGamma } from './log-gamma.ts';
import { type PValue, pValueOf } from './p-value.ts';

/**
 * Computes the exact two-sided p-value of McNemar's test: whether two systems differ on the pairs that only one of them
 * got right.
 *
 * @param onlyFirst - Pairs that only the first got right, integer >= 0.
 * @param onlySecond - Pairs that only the second got right, integer >= 0.
 * @returns 1 if they differ on no pair; the same for both orders.
 * @see McNemar (1947), doi:10.1007/BF02295996; exact as a binomial test with probability 1/2
 */
export function mcnemarTest(onlyFirst: number, onlySecond: number): PValue {
  // Exactly half of all outcomes, or more: the sum of the terms would be rounded.
  if (Math.abs(onlyFirst - onlySecond) <= 1) return pValueOf(0);
  const { logTerm, terms } = tail(onlyFirst, onlySecond);
  return pValueOf(logTerm + Math.log(2 * terms));
}

/**
 * Computes the two-sided mid-p-value of McNemar's test, which counts half of the probability of what was observed.
 *
 * The exact test accuses equal systems in fewer than 5 of 100 cases at 5 %, because few outcomes are possible; this one
 * comes close to 5, but may exceed them slightly.
 *
 * @param onlyFirst - Pairs that only the first got right, integer >= 0.
 * @param onlySecond - Pairs that only the second got right, integer >= 0.
 * @returns 1 if they differ on no pair; the same for both orders; at most the exact p-value.
 * @see Fagerland, Lydersen, Laake (2013), The McNemar test for binary matched-pairs data, doi:10.1186/1471-2288-13-91
 */
export function mcnemarMidP(onlyFirst: number, onlySecond: number): PValue {
  if (onlyFirst + onlySecond === 0) return pValueOf(0);
  const { logTerm, terms } = tail(onlyFirst, onlySecond);
  return onlyFirst === onlySecond
    ? pValueOf(Math.log1p(-Math.exp(logTerm) / 2))
    : pValueOf(logTerm + Math.log(2 * terms - 1));
}

/**
 * Of the binomial distribution with probability 1/2: the logarithm of its term for the smaller count, and the sum of all
 * terms up to it in multiples of it. In logarithms, because 2^-n is 0 for more than a thousand pairs.
 */
function tail(onlyFirst: number, onlySecond: number): { logTerm: number; terms: number } {
  const [few, many] = [Math.min(onlyFirst, onlySecond), Math.max(onlyFirst, onlySecond)];
  const logTerm =
    logGamma(few + many + 1) - logGamma(few + 1) - logGamma(many + 1) - (few + many) * Math.LN2;
  let [terms, term] = [1, 1];
  for (let count = few; count > 0 && term > Number.EPSILON * terms; count -= 1) {
    term *= count / (few + many - count + 1);
    terms += term;
  }
  return { logTerm, terms };
}
