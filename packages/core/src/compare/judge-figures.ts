import { holm } from '../statistics/holm.ts';
import { mcnemarTest } from '../statistics/mcnemar-test.ts';
import { LEVEL, questionsNeeded } from '../statistics/minimum-detectable-effect.ts';
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
 *
 * Where all is right or wrong, the exact test decides, because few questions on which both differ are no normal sample.
 */
export function judgeFigures(
  figures: readonly UnjudgedFigures[],
  rule: VerdictRule,
): readonly PairedFigures[] {
  const tests = figures.map(({ exact, pValue }) => exact?.pValue ?? pValue);
  const corrected = holm(tests.filter((test) => test !== null));
  const level = LEVEL / corrected.filter(({ p }) => p >= LEVEL).length;
  const inOrder = corrected.values();
  return figures.map(({ deviation, ...each }, index) => {
    const pHolm = tests[index] === null ? null : (inOrder.next().value ?? null);
    const judged = { ...each, pHolm };
    return { ...judged, ...verdictOf({ ...judged, deviation, level }, rule) };
  });
}

/** What the verdict is of. */
type JudgedFigures = Omit<PairedFigures, 'verdict' | 'why' | 'moreQuestions'> &
  Pick<UnjudgedFigures, 'deviation'> & {
    /** At which Holm's method would call one more difference, beside those that it calls. */
    readonly level: number;
  };

type Ruling = Pick<PairedFigures, 'verdict' | 'why' | 'moreQuestions'>;

function verdictOf(figures: JudgedFigures, rule: VerdictRule): Ruling {
  const { difference, ci95, pHolm, coverageA, coverageB } = figures;
  if (difference === null || ci95 === null || pHolm === null) return unresolved('too-few');
  if (Math.min(coverageA ?? 0, coverageB ?? 0) < rule.coverageFloor) return unresolved('coverage');
  const told = pHolm.p < LEVEL ? directionOf(difference > 0, rule.better) : undefined;
  // What is worse by less than the margin is no worse.
  if (told !== 'better' && isNoWorse(ci95, rule)) return { ...RESOLVED, verdict: 'no worse' };
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
  const { n, difference, deviation, exact, gained, lost, level } = figures;
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

/** Whether the whole interval is within the margin. */
function isNoWorse(
  [lower, upper]: readonly [number, number],
  { better, margin }: VerdictRule,
): boolean {
  if (margin === null || better === null) return false;
  return better === 'higher' ? lower > -margin : upper < margin;
}
