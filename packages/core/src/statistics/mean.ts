/**
 * Computes the arithmetic mean.
 *
 * @returns Undefined for no values.
 * @see NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.1
 */
export function mean(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
