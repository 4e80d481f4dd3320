import type { Ratings } from './fleiss-kappa.ts';

/**
 * Computes the flip rate: the share of pairs of ratings of one item that differ, over all items.
 *
 * With as many raters for each item it is 1 less the observed agreement of Fleiss' kappa. A rater that flips a share f of
 * independent ratings has the flip rate 2f(1 - f).
 *
 * @returns 0..1; undefined where no item has two ratings.
 * @see Fleiss (1971), doi:10.1037/h0031619, equation 3
 */
export function flipRate(items: readonly Ratings[]): number | undefined {
  let [differing, pairs] = [0, 0];
  for (const ratings of items) {
    let [count, equal] = [0, 0];
    for (const rated of ratings) {
      count += rated;
      equal += (rated * (rated - 1)) / 2;
    }
    const all = (count * (count - 1)) / 2;
    pairs += all;
    differing += all - equal;
  }
  return pairs === 0 ? undefined : differing / pairs;
}
