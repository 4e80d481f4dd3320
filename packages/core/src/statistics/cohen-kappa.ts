/** How often two raters said yes and no about the same items; integers >= 0. */
export interface Agreement {
  readonly bothYes: number;
  readonly onlyFirst: number;
  readonly onlySecond: number;
  readonly bothNo: number;
}

/**
 * Computes Cohen's kappa: how far two raters agree beyond chance.
 *
 * @returns At most 1, 0 for agreement by chance; undefined where chance alone agrees on every item.
 * @see Cohen (1960), doi:10.1177/001316446002000104
 */
export function cohenKappa({
  bothYes,
  onlyFirst,
  onlySecond,
  bothNo,
}: Agreement): number | undefined {
  const count = bothYes + onlyFirst + onlySecond + bothNo;
  const firstYes = bothYes + onlyFirst;
  const secondYes = bothYes + onlySecond;
  const byChance = firstYes * secondYes + (count - firstYes) * (count - secondYes);
  const total = count * count;
  return byChance === total
    ? undefined
    : (count * (bothYes + bothNo) - byChance) / (total - byChance);
}
