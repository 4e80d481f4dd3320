/** What is not known to be needed is left room for: a group that gets faster is seen to, and gets more. */
const NEED_FACTOR = 1.25;

/**
 * Shares a rate out among groups: equally, but none gets more than it needs, and what one does not need goes to the others
 * (max-min fairness). What nobody needs is shared equally.
 *
 * @param needs - Of each group, as a ratio of the rate, more than 0; Infinity if it needs all that it can get.
 * @returns The share of each group; their sum is 1.
 * @see Bertsekas and Gallager, Data Networks (1992), 6.5.2
 */
export function allocateShares(needs: readonly number[]): readonly number[] {
  const wanted = needs.map((need) => need * NEED_FACTOR);
  const shares = wanted.map(() => 0);
  let open = wanted.map((_, index) => index);
  let left = 1;
  for (;;) {
    const equal = left / open.length;
    const content = open.filter((index) => (wanted[index] ?? 0) <= equal);
    if (content.length === 0 || open.length === 0) break;
    for (const index of content) {
      shares[index] = wanted[index] ?? 0;
      left -= shares[index] ?? 0;
    }
    open = open.filter((index) => !content.includes(index));
  }
  const takers = open.length > 0 ? open : wanted.map((_, index) => index);
  for (const index of takers) shares[index] = (shares[index] ?? 0) + left / takers.length;
  return shares;
}
