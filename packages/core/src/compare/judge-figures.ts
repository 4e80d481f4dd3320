import { holm } from '../statistics/holm.ts';
import { mcnemarTest } from '../statistics/mcnemar-test.ts';
import { LEVEL, questionsNeeded } from '../statistics/minimum-detectable-effect.ts';
import type { PValue } from '../statistics/p-value.ts';
import { marginTest } from '../statistics/paired-difference.ts';
import type { UnjudgedFigures } from './compare-values.ts';
import type { PairedFigures, Verdict } from './comparison.ts';

/** What a verdict depends on besides the figures. */
export interface VerdictRule {
  readonly better: 'higher' | 'lower' | null;
  /** The most that A may be worse and still be no worse; null where nobody asks. */
  readonly margin: number | null;
  /** The least coverage of either side for a verdict, 0..1. */
  readonly coverageFloor: number;
}

/**
 * Gives comparisons that are made beside each other their verdicts: with each more there is one more chance of a false one.
 * The tests for a difference are corrected for their number, and so are those of the margin.
 *
 * Where all is right or wrong, the exact test decides, because few questions on which both differ are no normal sample.
 */
export function judgeFigures(
  figures: readonly UnjudgedFigures[],
  rule: VerdictRule,
): readonly PairedFigures[] {
  const corrected = correct(figures.map(({ exact, pValue }) => exact?.pValue ?? pValue));
  const margins = correct(figures.map(({ paired }) => testMargin(paired, rule)));
  const level = LEVEL / corrected.filter((test) => test !== null && test.p >= LEVEL).length;
  return figures.map(({ paired, ...each }, index) => {
    const judged = { ...each, pHolm: corrected[index] ?? null, pMargin: margins[index] ?? null };
    return { ...judged, ...verdictOf({ ...judged, paired, level }, rule) };
  });
}

/** Corrects the p-values of tests for how many there are, without those that are unknown. */
function correct(tests: readonly (PValue | null)[]): readonly (PValue | null)[] {
  const corrected = holm(tests.filter((test) => test !== null)).values();
  return tests.map((test) => (test === null ? null : (corrected.next().value ?? null)));
}

function testMargin(
  paired: UnjudgedFigures['paired'],
  { better, margin }: VerdictRule,
): PValue | null {
  if (paired === undefined || margin === null || better === null) return null;
  return marginTest(paired, margin, better) ?? null;
}

/** What the verdict is of. */
type JudgedFigures = Omit<PairedFigures, 'verdict' | 'why' | 'moreQuestions'> &
  Pick<UnjudgedFigures, 'paired'> & {
    /** At which Holm's method would call one more difference, beside those that it calls. */
    readonly level: number;
  };

type Ruling = Pick<PairedFigures, 'verdict' | 'why' | 'moreQuestions'>;

function verdictOf(figures: JudgedFigures, rule: VerdictRule): Ruling {
  const { difference, ci95, pHolm, pMargin, coverageA, coverageB } = figures;
  if (difference === null || ci95 === null || pHolm === null) return unresolved('too-few');
  if (Math.min(coverageA ?? 0, coverageB ?? 0) < rule.coverageFloor) return unresolved('coverage');
  const told = pHolm.p < LEVEL ? directionOf(difference > 0, rule.better) : undefined;
  // What is worse by less than the margin is no worse.
  const isNoWorse = pMargin !== null && pMargin.p < LEVEL / 2;
  if (told !== 'better' && isNoWorse) return { ...RESOLVED, verdict: 'no worse' };
  if (told !== undefined) return { ...RESOLVED, verdict: told };
  return { ...unresolved('noise'), moreQuestions: moreQuestionsFor(figures) };
}

const RESOLVED = { why: null, moreQuestions: null };

function unresolved(why: NonNullable<Ruling['why']>): Ruling {
  return { verdict: 'not resolved', why, moreQuestions: null };
}

/**
 * Computes how many more questions of the same kind a comparison needs to call a difference of the size that was seen: in 80 of
 * 100 cases, and always where each side gains the same share of them.
 *
 * @returns At least 1; null for no difference, and where a billion are too few.
 * @see {@link questionsNeeded}; Holm (1979), https://www.jstor.org/stable/4615733 (the level)
 */
function moreQuestionsFor(figures: JudgedFigures): number | null {
  const { n, difference, paired, exact, gained, lost, level } = figures;
  const deviation = paired?.standardDeviation;
  if (difference === null || difference === 0 || deviation === undefined) return null;
  const isExact = exact !== null;
  let needed = questionsNeeded(deviation, difference, { level, isExact });
  if (needed === undefined) return null;
  // Where nearly all questions differ, their spread says too little of the exact test.
  const isCalled = (count: number) =>
    mcnemarTest(Math.round((gained * count) / n), Math.round((lost * count) / n)).p < level;
  while (isExact && !isCalled(needed)) needed += 1;
  return needed - n;
}

function directionOf(isMore: boolean, better: VerdictRule['better']): Verdict {
  if (better === null) return isMore ? 'higher' : 'lower';
  return isMore === (better === 'higher') ? 'better' : 'worse';
}
