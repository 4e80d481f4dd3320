import { mean } from './mean.ts';

/**
 * Computes the sample variance about the mean, with divisor n - 1.
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
