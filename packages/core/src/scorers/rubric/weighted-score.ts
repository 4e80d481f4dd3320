/** A criterion with the score that its verdict gives. */
interface ScoredCriterion {
  /** 0..1 */
  readonly score: number;
  /** >= 0 */
  readonly weight: number;
}

/**
 * Computes the score of weighted criteria: the sum of score times weight over the sum of the weights, from left to right.
 *
 * @returns 0..1; undefined where nothing has a weight.
 * @see https://github.com/synth-laboratories/OneShot (b36e3a9): `weighted_score` of its language model's evaluation
 */
export function weightedScore(criteria: readonly ScoredCriterion[]): number | undefined {
  const total = criteria.reduce((sum, { weight }) => sum + weight, 0);
  if (total <= 0) return undefined;
  const weighted = criteria.reduce((sum, { score, weight }) => sum + score * weight, 0);
  return weighted / total;
}
