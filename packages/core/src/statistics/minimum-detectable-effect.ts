import { tQuantile } from './student-t.ts';

/** How often a comparison may see a difference where there is none: the usual level. */
export const LEVEL = 0.05;
/** How often a comparison is to see a difference of the size that it is planned for: Cohen's convention. */
export const POWER = 0.8;
/** Not even so many questions: the search ends. */
const MOST_QUESTIONS = 2 ** 30;

/** The test that is to see a difference. */
export interface PlannedTest {
  /** Exclusive 0..1; lower for one of several tests. @default {@link LEVEL} */
  readonly level?: number;
  /** Whether it is McNemar's exact test, else the t test. @default false */
  readonly isExact?: boolean;
}

/**
 * Computes the smallest true difference that a paired comparison of so many questions calls one in 80 of 100 cases.
 *
 * The exact test needs about one question more than the t test to call a difference: it is close to McNemar's with the
 * correction for continuity.
 *
 * @param standardDeviation - Of the differences of the questions, >= 0; its unit is that of the effect.
 * @param count - The questions that both configs have, integer >= 2.
 * @see Bloom (1995), Minimum Detectable Effects, doi:10.1177/0193841X9501900504; Cohen (1988), Statistical Power Analysis,
 *   doi:10.4324/9780203771587, section 2.4 (the conventions); Edwards (1948), Note on the Correction for Continuity,
 *   doi:10.1007/BF02289261 (the exact test)
 */
export function minimumDetectableEffect(
  standardDeviation: number,
  count: number,
  { level = LEVEL, isExact = false }: PlannedTest = {},
): number {
  const multiple = tQuantile(1 - level / 2, count - 1) + tQuantile(POWER, count - 1);
  const byT = (multiple * standardDeviation) / Math.sqrt(count);
  return isExact ? byT + 1 / count : byT;
}

/**
 * Computes how many questions a paired comparison needs to see a difference: the fewest whose minimum detectable effect is
 * at most as large.
 *
 * @param standardDeviation - Of the differences of the questions, >= 0.
 * @param difference - Of either sign.
 * @returns Integer >= 2; undefined where a billion questions are too few, as for no difference.
 * @see {@link minimumDetectableEffect}
 */
export function questionsNeeded(
  standardDeviation: number,
  difference: number,
  test: PlannedTest = {},
): number | undefined {
  const isEnough = (count: number) =>
    minimumDetectableEffect(standardDeviation, count, test) <= Math.abs(difference);
  let enough = 2;
  while (!isEnough(enough)) {
    if (difference === 0 || enough >= MOST_QUESTIONS) return undefined;
    enough *= 2;
  }
  let tooFew = Math.max(1, enough / 2);
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (isEnough(middle)) enough = middle;
    else tooFew = middle;
  }
  return enough;
}
