import { mean } from '../statistics/mean.ts';
import { pairedDifference } from '../statistics/paired-difference.ts';
import type { ValuesById } from './compare-values.ts';
import type { QuestionValue } from './question-values.ts';

/** How much the differences between two configs vary from question to question. */
export interface DifferenceSpread {
  /** Questions that it was found on; 0 for an assumption. */
  readonly questions: number;
  /** Replicates of each, on average over questions and configs; null for an assumption. */
  readonly replicates: number | null;
  /** Variance of the differences, with so many replicates. */
  readonly total: number;
  /** The part of it that more replicates reduce, for one of them; null where no question has two. */
  readonly replicate: number | null;
  /** Whether each score is right or wrong, so that single replicates are compared by the exact test. */
  readonly isBinary: boolean;
}

/** Between the least and the most that a score can be. */
const WIDTH = 1;

/** What is assumed of scores without an earlier group: two configs that are right on half of the questions, each on its own. */
export const ASSUMED_SPREAD: DifferenceSpread = {
  questions: 0,
  replicates: null,
  total: 0.5,
  replicate: null,
  isBinary: true,
};

/**
 * Measures how much the differences between two configs vary over the questions that both have.
 *
 * @returns Undefined for fewer than two such questions.
 * @see Miller (2024), Adding Error Bars to Evals, arXiv:2411.00640, section 3.1: the variance of a mean over K replicates is
 *   that between questions and a K-th of that within
 */
export function measureSpread(first: ValuesById, second: ValuesById): DifferenceSpread | undefined {
  const pairs = [...first].flatMap(([id, own]) => {
    const other = second.get(id);
    return own.count > 0 && other !== undefined && other.count > 0 ? [[own, other] as const] : [];
  });
  // As a comparison measures it, which assumes two more questions where there is no spread.
  const compared = pairs.map(([own, other]) => ({ first: own, second: other }));
  const { standardDeviation } = pairedDifference(compared, WIDTH) ?? {};
  if (standardDeviation === undefined) return undefined;
  const repeated = pairs.filter(([own, other]) => own.count > 1 && other.count > 1);
  const counts = pairs.flatMap(([own, other]) => [own.count, other.count]);
  return {
    questions: pairs.length,
    replicates: mean(counts) ?? null,
    total: standardDeviation ** 2,
    replicate: mean(repeated.map(([own, other]) => varianceOf(own) + varianceOf(other))) ?? null,
    isBinary: pairs.flat().every(({ sum, squares }) => sum === squares),
  };
}

/** The standard deviation of the differences with another number of replicates; the same where nothing says what they add. */
export function deviationAt(
  { total, replicate, replicates }: DifferenceSpread,
  wanted: number,
): number {
  if (replicate === null || replicates === null) return Math.sqrt(total);
  const question = Math.max(0, total - replicate / replicates);
  return Math.sqrt(question + replicate / wanted);
}

/** The sample variance over replicates, at least two. */
function varianceOf({ sum, squares, count }: QuestionValue): number {
  return Math.max(0, squares - (sum * sum) / count) / (count - 1);
}
