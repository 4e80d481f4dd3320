/** Two-sided 95 % point of the standard normal distribution. */
const Z_95 = 1.959963984540054;

/**
 * Wilson score interval for a proportion at 95 %.
 *
 * Holds up where the normal approximation fails: small counts, ratios near 0 or 1.
 *
 * @param successCount - Sum of scores, 0..`trialCount`; need not be whole.
 * @param trialCount - Cells counted, integer >= 0.
 * @returns Bounds as ratios in 0..1, lower first; undefined for no trials.
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

/**
 * Arithmetic mean.
 *
 * @returns Undefined for no values.
 */
export function mean(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Sample variance, divisor n - 1, computed about the mean.
 *
 * @returns Undefined for fewer than 2 values: unknown, not 0.
 * @see NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.6
 */
export function sampleVariance(values: readonly number[]): number | undefined {
  const center = mean(values);
  if (center === undefined || values.length < 2) return undefined;
  const squares = values.reduce((sum, value) => sum + (value - center) ** 2, 0);
  return squares / (values.length - 1);
}

/**
 * A quantile by linear interpolation between order statistics.
 *
 * @param sorted - Ascending.
 * @param ratio - 0..1.
 * @returns Undefined for no values.
 * @see Hyndman & Fan (1996), type 7, doi:10.1080/00031305.1996.10473566
 */
export function quantile(sorted: ArrayLike<number>, ratio: number): number | undefined {
  if (sorted.length === 0) return undefined;
  const position = (sorted.length - 1) * ratio;
  const below = sorted[Math.floor(position)] ?? 0;
  const above = sorted[Math.ceil(position)] ?? below;
  return below + (above - below) * (position - Math.floor(position));
}
