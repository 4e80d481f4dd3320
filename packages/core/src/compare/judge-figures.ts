import { holm } from '../statistics/holm.ts';
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
  const corrected = holm(tests.filter((test) => test !== null)).values();
  return figures.map(({ deviation, ...each }, index) => {
    const pHolm = tests[index] === null ? null : (corrected.next().value ?? null);
    const judged = { ...each, pHolm };
    return { ...judged, ...verdictOf({ ...judged, deviation }, rule) };
  });
}

/** What the verdict is of. */
type JudgedFigures = Omit<PairedFigures, 'verdict' | 'why' | 'moreQuestions'> &
  Pick<UnjudgedFigures, 'deviation'>;

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

function moreQuestionsFor({ n, difference, deviation }: JudgedFigures): number | null {
  if (difference === null || difference === 0 || deviation === undefined) return null;
  const needed = questionsNeeded(deviation, difference);
  return needed === undefined || needed <= n ? null : needed - n;
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
