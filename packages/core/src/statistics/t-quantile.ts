/** Two-sided 95 % points of Student's t distribution for 1, 2, ... degrees of freedom. */
const T_95 = [
  12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157,
  2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.13145, 2.119905, 2.109816, 2.100922, 2.093024,
  2.085963, 2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.04523,
  2.042272,
] as const;
/** The two-sided 95 % point of the standard normal distribution. */
const Z_95 = 1.959963984540054;

/**
 * Returns the two-sided 95 % point of Student's t distribution, to five digits.
 *
 * From 31 degrees of freedom on, by the first terms of its expansion around the normal distribution.
 *
 * @param degrees - Degrees of freedom, integer >= 1.
 * @see Abramowitz, Stegun (1964), Handbook of Mathematical Functions, table 26.10 and formula 26.7.5
 */
export function tQuantile95(degrees: number): number {
  const listed = T_95[degrees - 1];
  if (listed !== undefined) return listed;
  const first = (Z_95 ** 3 + Z_95) / 4;
  const second = (5 * Z_95 ** 5 + 16 * Z_95 ** 3 + 3 * Z_95) / 96;
  const third = (3 * Z_95 ** 7 + 19 * Z_95 ** 5 + 17 * Z_95 ** 3 - 15 * Z_95) / 384;
  return Z_95 + first / degrees + second / degrees ** 2 + third / degrees ** 3;
}
