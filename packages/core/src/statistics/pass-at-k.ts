import type { Cluster } from './clustered-standard-error.ts';
import { chanceOfAll, type OverQuestions, overQuestions } from './pass-hat-k.ts';

/**
 * Estimates pass@k, what k attempts at a question achieve: the chance that at least one of k replicates passes, over
 * questions.
 *
 * It draws k of the replicates without replacement, which is unbiased; 1 - (1 - pass rate)^k is too low.
 *
 * @param questions - For each, how many of its replicates pass, of how many; integers.
 * @param k - Integer >= 1.
 * @returns Over the questions with at least k replicates; undefined without one.
 * @see Chen et al. (2021), Evaluating Large Language Models Trained on Code, arXiv:2107.03374, equation 1
 */
export function passAtK(questions: readonly Cluster[], k: number): OverQuestions | undefined {
  return overQuestions(questions, k, ({ sum, count }) => 1 - chanceOfAll(count - sum, count, k));
}
