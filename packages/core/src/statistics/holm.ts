import type { PValue } from './p-value.ts';

/**
 * Adjusts p-values of several tests for their number, by Holm's method: with those below 5 % rejected, the chance of any
 * false alarm among all of them is at most 5 %, however they depend on each other.
 *
 * @returns The adjusted p-values in the order given, each at least the original.
 * @see Holm (1979), A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6, 65-70,
 *   https://www.jstor.org/stable/4615733
 */
export function holm(pValues: readonly PValue[]): readonly PValue[] {
  const byRank = pValues
    .map((_, index) => index)
    .sort((left, right) => logOf(pValues[left]) - logOf(pValues[right]));
  const adjusted: PValue[] = pValues.map(() => CERTAIN);
  let highest: PValue = { p: 0, log10P: Number.NEGATIVE_INFINITY };
  for (const [rank, index] of byRank.entries()) {
    const factor = pValues.length - rank;
    const { p, log10P } = pValues[index] ?? CERTAIN;
    const log = log10P + Math.log10(factor);
    const own = log < 0 ? { p: p * factor, log10P: log } : CERTAIN;
    if (own.log10P > highest.log10P) highest = own;
    adjusted[index] = highest;
  }
  return adjusted;
}

const CERTAIN: PValue = { p: 1, log10P: 0 };

function logOf(value: PValue | undefined): number {
  return value?.log10P ?? 0;
}
