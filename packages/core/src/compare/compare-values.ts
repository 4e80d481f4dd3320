import { cohenKappa } from '../statistics/cohen-kappa.ts';
import { mcnemarTest } from '../statistics/mcnemar-test.ts';
import { mean } from '../statistics/mean.ts';
import { type PairedDifference, pairedDifference } from '../statistics/paired-difference.ts';
import type { ChangedQuestion, PairedFigures } from './comparison.ts';
import type { QuestionValue } from './question-values.ts';

/** The values of a figure by question. */
export type ValuesById = ReadonlyMap<string, QuestionValue>;

/** Figures before it is known how many comparisons there are beside them: what these say depends on it. */
export interface UnjudgedFigures
  extends Omit<PairedFigures, 'pHolm' | 'pMargin' | 'verdict' | 'why' | 'moreQuestions'> {
  /** Undefined without a question that both have. */
  readonly paired: PairedDifference | undefined;
}

type Range = readonly [least: number, most: number];

/** A question for which both have the figure. */
interface Pair extends ChangedQuestion {
  readonly first: QuestionValue;
  readonly second: QuestionValue;
}

/**
 * Compares a figure of two configs, question by question. Only questions for which both have it count, each as much as
 * another, by its mean over replicates.
 *
 * @param range - The least and the most that the figure can be; infinite where it has no bound.
 */
export function compareValues(
  first: ValuesById,
  second: ValuesById,
  range: Range,
): UnjudgedFigures {
  const pairs = pairsOf(first, second);
  const width = range[1] - range[0];
  const found = pairedDifference(pairs, Number.isFinite(width) ? width : undefined);
  const [own, other] = [plannedIn(first, second), plannedIn(second, first)];
  return {
    n: pairs.length,
    questions: own.length,
    onlyA: countAsked(first) - own.length,
    onlyB: countAsked(second) - own.length,
    ruledA: countRuled(first),
    ruledB: countRuled(second),
    coverageA: coverageOf(own),
    coverageB: coverageOf(other),
    a: mean(pairs.map(({ a }) => a)) ?? null,
    b: mean(pairs.map(({ b }) => b)) ?? null,
    difference: found?.difference ?? null,
    stderr: found?.standardError ?? null,
    ci95: found?.interval === undefined ? null : [...found.interval],
    effect: found?.effect ?? null,
    bounds: boundsOf(own, other, range),
    pValue: found?.pValue ?? null,
    gained: pairs.filter((pair) => pair.difference > 0).length,
    lost: pairs.filter((pair) => pair.difference < 0).length,
    same: pairs.filter((pair) => pair.difference === 0).length,
    exact: compareExactly(pairs),
    paired: found,
  };
}

/** Lists the questions that both have answered, and not alike: those that the first loses most on first. */
export function listChanged(
  first: ValuesById,
  second: ValuesById,
  better: 'higher' | 'lower' | null,
): readonly ChangedQuestion[] {
  const sign = better === 'lower' ? -1 : 1;
  return pairsOf(first, second)
    .filter(({ difference }) => difference !== 0)
    .map(({ id, a, b, difference }) => ({ id, a, b, difference }))
    .toSorted((left, right) => sign * (left.difference - right.difference));
}

function pairsOf(first: ValuesById, second: ValuesById): readonly Pair[] {
  return [...first].flatMap(([id, own]) => {
    const other = second.get(id);
    if (own.count === 0 || other === undefined || other.count === 0) return [];
    const [a, b] = [own.sum / own.count, other.sum / other.count];
    return [{ id, a, b, difference: a - b, first: own, second: other }];
  });
}

/** The values of the questions that another config was to answer as well. */
function plannedIn(values: ValuesById, other: ValuesById): readonly QuestionValue[] {
  return [...values].flatMap(([id, value]) => {
    const { cells = 0 } = other.get(id) ?? {};
    return isAsked(value) && cells > 0 ? [value] : [];
  });
}

/** Without the questions that a ruling excludes. */
function countAsked(values: ValuesById): number {
  return [...values.values()].filter(isAsked).length;
}

function isAsked({ cells }: QuestionValue): boolean {
  return cells > 0;
}

function countRuled(values: ValuesById): number {
  return [...values.values()].reduce((sum, { ruled }) => sum + ruled, 0);
}

function coverageOf(values: readonly QuestionValue[]): number | null {
  const cells = values.reduce((sum, each) => sum + each.cells, 0);
  const known = values.reduce((sum, each) => sum + each.count, 0);
  return cells === 0 ? null : known / cells;
}

/** The least and the most that the mean difference over all questions can be, whatever the missing cells would give. */
function boundsOf(
  own: readonly QuestionValue[],
  other: readonly QuestionValue[],
  [least, most]: Range,
): [number, number] | null {
  if (!Number.isFinite(most - least) || own.length === 0) return null;
  const meanWith = (values: readonly QuestionValue[], missing: number) =>
    mean(values.map(({ sum, count, cells }) => (sum + (cells - count) * missing) / cells)) ?? 0;
  return [
    meanWith(own, least) - meanWith(other, most),
    meanWith(own, most) - meanWith(other, least),
  ];
}

/** McNemar's test, where each question is one cell of each, right or wrong. */
function compareExactly(pairs: readonly Pair[]): UnjudgedFigures['exact'] {
  const isPlain = ({ sum, count, cells }: QuestionValue) =>
    cells === 1 && count === 1 && (sum === 0 || sum === 1);
  if (pairs.length === 0 || !pairs.every((pair) => isPlain(pair.first) && isPlain(pair.second)))
    return null;
  const countOf = (a: number, b: number) =>
    pairs.filter((pair) => pair.a === a && pair.b === b).length;
  const counts = {
    bothYes: countOf(1, 1),
    onlyFirst: countOf(1, 0),
    onlySecond: countOf(0, 1),
    bothNo: countOf(0, 0),
  };
  return {
    pValue: mcnemarTest(counts.onlyFirst, counts.onlySecond),
    kappa: cohenKappa(counts) ?? null,
  };
}
