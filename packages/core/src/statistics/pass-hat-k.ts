import type { Cluster } from './clustered-standard-error.ts';
import { mean } from './mean.ts';

/** A figure over questions, with how many of them it is of. */
export interface OverQuestions {
  readonly value: number;
  /** Integer >= 1. */
  readonly count: number;
}

/**
 * Estimates pass^k, how reliable a config is: the chance that k replicates of a question all pass, over questions.
 *
 * It draws k of the replicates without replacement, which is unbiased; the pass rate to the power of k is not.
 *
 * @param questions - For each, how many of its replicates pass, of how many; integers.
 * @param k - Integer >= 1.
 * @returns Over the questions with at least k replicates; undefined without one.
 * @see Yao et al. (2024), tau-bench, arXiv:2406.12045, section 3
 */
export function passHatK(questions: readonly Cluster[], k: number): OverQuestions | undefined {
  return overQuestions(questions, k, ({ sum, count }) => chanceOfAll(sum, count, k));
}

/** The mean of a figure over the questions with at least k replicates. */
export function overQuestions(
  questions: readonly Cluster[],
  k: number,
  figure: (question: Cluster) => number,
): OverQuestions | undefined {
  const values = questions.filter(({ count }) => count >= k).map(figure);
  const value = mean(values);
  return value === undefined ? undefined : { value, count: values.length };
}

/** The chance that k of so many, drawn without replacement, are all among the chosen: C(chosen, k) / C(count, k). */
export function chanceOfAll(chosen: number, count: number, k: number): number {
  let chance = 1;
  for (let drawn = 0; drawn < k; drawn += 1) {
    chance *= Math.max(0, chosen - drawn) / (count - drawn);
  }
  return chance;
}
