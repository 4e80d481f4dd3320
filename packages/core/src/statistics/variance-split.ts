import type { RunningMoments } from './running-moments.ts';

/** Where the variance of a score comes from; undefined for what the values do not tell. */
export interface VarianceSplit {
  /** Of the questions: how much harder some are than others; >= 0. */
  readonly question: number | undefined;
  /** Of the replicates of one question; >= 0. It includes that of judges where theirs is unknown. */
  readonly replicate: number | undefined;
  /** Of the verdicts on one answer; >= 0, undefined where no answer has two. */
  readonly judge: number | undefined;
  /** Questions and replicates with a score; verdicts on answers that have one. */
  readonly counts: {
    readonly questions: number;
    readonly replicates: number;
    readonly verdicts: number;
  };
  /**
   * Which of them contributes more to the variance of the mean score, and is worth adding first. Twice the questions always
   * halve it; twice the replicates do nearly as much where this says so.
   */
  readonly advice: 'more questions' | 'more replicates' | undefined;
}

/**
 * Splits the variance of scores between questions, replicates and judges, by a nested analysis of variance. An estimate that
 * is below 0 by chance counts as 0.
 *
 * @param questions - For each, the scores of its replicates.
 * @param answers - For each answer that several judges graded, their verdicts as scores, of which its score is the mean.
 *   @default none
 * @see Searle, Casella, McCulloch (1992), Variance Components, doi:10.1002/9780470316856, section 3.6 (different numbers of
 *   replicates); Snedecor, Cochran (1967), Statistical Methods, section 10.13; Miller (2024), arXiv:2411.00640, section 3
 */
export function varianceSplit(
  questions: readonly RunningMoments[],
  answers: readonly RunningMoments[] = [],
): VarianceSplit {
  const filled = questions.filter(({ count }) => count > 0);
  const sizes = filled.map(({ count }) => count);
  const [replicates, squared] = [total(sizes), total(sizes.map((size) => size ** 2))];
  const center = total(filled.map(({ sum }) => sum)) / replicates;
  const between = total(filled.map(({ sum, count }) => count * (sum / count - center) ** 2));
  const within = ratio(total(filled.map(({ squares }) => squares)), replicates - filled.length);
  const meanSquare = ratio(between, filled.length - 1);
  // It expects the variance within questions, and this many times the variance of the questions.
  const size = ratio(replicates - squared / replicates, filled.length - 1);
  const isSplit = within !== undefined && meanSquare !== undefined && size !== undefined;
  const question = isSplit ? Math.max(0, (meanSquare - within) / size) : undefined;
  const judged = answers.filter(({ count }) => count > 0);
  const verdicts = total(judged.map(({ count }) => count));
  const judge = ratio(total(judged.map(({ squares }) => squares)), verdicts - judged.length);
  const judgePart = total(judged.map(({ count }) => (judge ?? 0) / count / judged.length));
  return {
    question,
    replicate: within === undefined ? undefined : Math.max(0, within - judgePart),
    judge,
    counts: { questions: filled.length, replicates, verdicts },
    advice: isSplit
      ? adviceOf(((question ?? 0) * squared) / replicates ** 2, within / replicates)
      : undefined,
  };
}

/** By what questions and what replicates, with their judges, contribute to the variance of the mean. */
function adviceOf(byQuestions: number, byReplicates: number): VarianceSplit['advice'] {
  if (byQuestions + byReplicates === 0) return undefined;
  return byReplicates > byQuestions ? 'more replicates' : 'more questions';
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** Undefined for nothing to divide by. */
function ratio(value: number, by: number): number | undefined {
  return by > 0 ? value / by : undefined;
}
