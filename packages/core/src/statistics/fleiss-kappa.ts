/** How many raters have put an item into each category; integers >= 0, the same categories for all items. */
export type Ratings = readonly number[];

/**
 * Computes Fleiss' kappa: how far raters agree beyond chance.
 *
 * Items that fewer than 2 raters have rated do not count. Fleiss has the same number of raters for each item; where it
 * differs, each item counts once for what is observed, and each rating once for what chance would give.
 *
 * @returns At most 1, 0 for agreement by chance; undefined without such items, or where all ratings are the same.
 * @see Fleiss (1971), Measuring nominal scale agreement among many raters, doi:10.1037/h0031619
 */
export function fleissKappa(items: readonly Ratings[]): number | undefined {
  const totals: number[] = [];
  let [itemCount, ratingCount, agreement] = [0, 0, 0];
  // Plain loops: a bootstrap runs this over millions of items.
  for (const ratings of items) {
    let [count, pairs] = [0, 0];
    for (const rated of ratings) {
      count += rated;
      pairs += rated * (rated - 1);
    }
    if (count < 2) continue;
    itemCount += 1;
    ratingCount += count;
    agreement += pairs / (count * (count - 1));
    for (let category = 0; category < ratings.length; category += 1)
      totals[category] = (totals[category] ?? 0) + (ratings[category] ?? 0);
  }
  const byChance = sumOf(totals.map((total) => (total / ratingCount) ** 2));
  // One category alone: exactly 1, however it is rounded.
  if (itemCount === 0 || totals.includes(ratingCount)) return undefined;
  return (agreement / itemCount - byChance) / (1 - byChance);
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
