/** The two-sided 95 % point of the standard normal distribution. */
export const Z_95 = 1.959963984540054;

/**
 * Computes the Wilson score interval of a proportion, at 95 %.
 *
 * Stays accurate where the normal approximation fails: for small counts and ratios near 0 or 1.
 *
 * @param successCount - Sum of scores, 0..`trialCount`; may be fractional.
 * @param trialCount - Number of cells, >= 0; may be fractional.
 * @returns The bounds as ratios in 0..1, lower first; undefined for no trials.
 * @see Wilson (1927), doi:10.1080/01621459.1927.10502953
 */
export function wilsonInterval(
  successCount: number,
  trialCount: number,
): readonly [number, number] | undefined {
  if (trialCount === 0) return undefined;
  const z2 = Z_95 * Z_95;
  const ratio = successCount / trialCount;
  const center = (ratio + z2 / (2 * trialCount)) / (1 + z2 / trialCount);
  const spread = (ratio * (1 - ratio)) / trialCount + z2 / (4 * trialCount * trialCount);
  const half = (Z_95 * Math.sqrt(spread)) / (1 + z2 / trialCount);
  const lower = successCount === 0 ? 0 : Math.max(0, center - half);
  return [lower, successCount === trialCount ? 1 : Math.min(1, center + half)];
}
