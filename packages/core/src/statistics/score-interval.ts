import { trialsOfStandardError } from './effective-trials.ts';
import { wilsonInterval } from './wilson-interval.ts';

/** Scores of independent questions, as sums. */
export interface ScoreSums {
  /** Of scores in 0..1. */
  readonly sum: number;
  /** Of their squares. */
  readonly squares: number;
  readonly count: number;
}

/**
 * Computes the standard error of a mean score: the sample standard deviation divided by the root of n.
 *
 * @returns Undefined for fewer than 2 scores.
 */
export function scoreStandardError({ sum, squares, count }: ScoreSums): number | undefined {
  if (count < 2) return undefined;
  return Math.sqrt(Math.max(0, squares - (sum * sum) / count) / (count - 1) / count);
}

/**
 * Computes the Wilson score interval of a mean score, at 95 %.
 *
 * Of scores that are 0 or 1, its trials are their number; of partial credit, the effective one, because such scores vary
 * less.
 *
 * @returns The bounds as ratios in 0..1, lower first; undefined for no scores.
 * @see {@link wilsonInterval}, effectiveTrials
 */
export function scoreInterval(scores: ScoreSums): readonly [number, number] | undefined {
  const { sum, squares, count } = scores;
  const standardError = scoreStandardError(scores);
  if (standardError === undefined || sum === squares) return wilsonInterval(sum, count);
  const mean = sum / count;
  const trials = trialsOfStandardError(standardError, count, mean * (1 - mean));
  return wilsonInterval(mean * trials, trials);
}
