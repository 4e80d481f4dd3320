/**
 * Ranks names by their scores, the highest first. Equal scores have the same rank, and leave out the ranks after it, as in
 * 1, 2, 2, 4.
 *
 * @see Kendall (1945), The Treatment of Ties in Ranking Problems, doi:10.1093/biomet/33.3.239, on why ties are kept; the
 *   rank of a tie is that of standard competition ranking, R's `rank(ties.method = "min")`
 */
export function rankOrder(scores: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  const all = [...scores.values()];
  return new Map(
    [...scores].map(([name, score]) => [name, 1 + all.filter((other) => other > score).length]),
  );
}
