import type { Cluster } from './clustered-standard-error.ts';
import { mean } from './mean.ts';
import { type PValue, pValueOf } from './p-value.ts';
import { sampleVariance } from './sample-variance.ts';
import { logTAbove, logTTails, tQuantile } from './student-t.ts';

/** The values of one question under two configs, each over its replicates. */
export interface Pair {
  readonly first: Cluster;
  readonly second: Cluster;
}

/** How far two configs differ, by the mean difference of the questions that both have; undefined for what is unknown. */
export interface PairedDifference {
  /** The questions that both have, >= 1. */
  readonly count: number;
  /** First less second: the mean, over questions, of the difference between the means over replicates. */
  readonly difference: number;
  /** Of the differences of the questions, > 0; what a plan for more questions starts from. */
  readonly standardDeviation: number | undefined;
  readonly standardError: number | undefined;
  /** Mean of the sample that the t test is over, which has two questions more than there are where those are assumed. */
  readonly center: number | undefined;
  /** Its degrees of freedom. */
  readonly degrees: number | undefined;
  /** At 95 %, lower bound first; without 0 exactly where `p` is below 0.05. */
  readonly interval: readonly [number, number] | undefined;
  /** Cohen's d for pairs: the difference in multiples of the standard deviation. */
  readonly effect: number | undefined;
  /** Of the two-sided t test that there is no difference. */
  readonly pValue: PValue | undefined;
}

/** So little, relative to a difference, is rounding. */
const ROUNDING = 1e-12;

/**
 * Computes the paired difference of two configs, its t interval and its t test; questions are clusters over replicates.
 *
 * Each question counts once, however many replicates it has, and values of one question may depend on each other in any
 * way. Questions that only one config has do not count.
 *
 * Where all questions differ by the same amount, the sample shows no spread. Of values in a known range two more questions
 * are then assumed, one that only the first got right and one that only the second: with 0 changed of n questions, the
 * bounds are near -2.8/n and 2.8/n.
 *
 * @param range - Between the lowest and the highest possible value, such as 1 for scores in 0..1; undefined for values
 *   without bounds, such as a cost.
 * @returns Undefined without a question that both have. One such question has a difference without a spread.
 * @see Miller (2024), Adding Error Bars to Evals, arXiv:2411.00640, section 4.2 (paired differences); Student (1908),
 *   doi:10.1093/biomet/6.1.1; Bonett, Price (2012), Adjusted Wald Confidence Interval for a Difference of Binomial
 *   Proportions Based on Paired Data, doi:10.3102/1076998611411915 (the two questions); Cohen (1988), Statistical Power
 *   Analysis, doi:10.4324/9780203771587, section 2.3.5 (the effect)
 */
export function pairedDifference(
  pairs: readonly Pair[],
  range?: number,
): PairedDifference | undefined {
  const differences = pairedDifferences(pairs);
  const difference = mean(differences);
  if (difference === undefined) return undefined;
  const count = differences.length;
  const isConstant = differences.every(
    (each) => Math.abs(each - difference) <= ROUNDING * Math.abs(difference),
  );
  if (count < 2 || (isConstant && range === undefined))
    return { ...NOTHING_MORE, count, difference };
  const spread = isConstant && range !== undefined ? [...differences, range, -range] : differences;
  const [center, variance] = [mean(spread) ?? 0, sampleVariance(spread) ?? 0];
  const standardDeviation = Math.sqrt(variance);
  const standardError = Math.sqrt(variance / spread.length);
  const degrees = spread.length - 1;
  const half = tQuantile(0.975, degrees) * standardError;
  const limit = range ?? Number.POSITIVE_INFINITY;
  return {
    count,
    difference,
    standardDeviation,
    standardError,
    center,
    degrees,
    interval: [Math.max(-limit, center - half), Math.min(limit, center + half)],
    effect: difference / standardDeviation,
    pValue: pValueOf(logTTails(center / standardError, degrees)),
  };
}

/**
 * Computes the one-sided p-value of the t test that the first is worse than the second by a margin, or by more.
 *
 * Below 2.5 %, the 95 % interval is within the margin: one-sided tests have half the level of two-sided ones.
 *
 * @param margin - >= 0, in the unit of the difference.
 * @param better - Which of two values is better.
 * @returns Undefined where the difference has no interval.
 * @see ICH E9 (1998), Statistical Principles for Clinical Trials, sections 3.3.2 (non-inferiority) and 5.5 (the level)
 */
export function marginTest(
  { center, standardError, degrees }: PairedDifference,
  margin: number,
  better: 'higher' | 'lower',
): PValue | undefined {
  if (center === undefined || standardError === undefined || degrees === undefined)
    return undefined;
  const lead = better === 'higher' ? center : -center;
  return pValueOf(logTAbove((lead + margin) / standardError, degrees));
}

/** The difference of each question that both have, in order: first less second, between means over replicates. */
export function pairedDifferences(pairs: readonly Pair[]): readonly number[] {
  return pairs
    .filter(({ first, second }) => first.count > 0 && second.count > 0)
    .map(({ first, second }) => first.sum / first.count - second.sum / second.count);
}

const NOTHING_MORE = {
  standardDeviation: undefined,
  standardError: undefined,
  center: undefined,
  degrees: undefined,
  interval: undefined,
  effect: undefined,
  pValue: undefined,
} as const;
