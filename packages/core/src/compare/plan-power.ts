import { minimumDetectableEffect } from '../statistics/minimum-detectable-effect.ts';
import { type DifferenceSpread, deviationAt } from './difference-spread.ts';

/** Two configs that are to be compared, and what a cell of theirs costs. */
export interface PowerPair {
  readonly a: string;
  readonly b: string;
  /** Questions that both are to answer. */
  readonly questions: number;
  readonly spread: DifferenceSpread;
  /** Of one answer of both, USD; null where it is not known. */
  readonly costUsd: number | null;
}

/** What a number of questions and replicates resolves. */
export interface PowerRow {
  /** The plan; with twice the questions, or the replicates; with as many questions as the dearest pair's dollars buy. */
  readonly kind: 'plan' | 'questions' | 'replicates' | 'dollars';
  readonly questions: number;
  readonly replicates: number;
  /**
   * The smallest difference of scores that a comparison sees in 80 of 100 cases, 0..1; null for fewer than two questions, and
   * where it sees not even the largest.
   */
  readonly resolves: number | null;
  /** Of both configs. */
  readonly cells: number;
  readonly costUsd: number | null;
}

/** What a plan resolves between two configs, and what more of it would. */
export interface PairPower extends PowerPair {
  readonly rows: readonly PowerRow[];
  /** Which of them resolves more when it is doubled; null where it is not known what replicates add. */
  readonly advice: 'more questions' | 'more replicates' | null;
}

/** Computes what a plan resolves between pairs of configs. @param replicates - Integer >= 1. */
export function planPower(pairs: readonly PowerPair[], replicates: number): readonly PairPower[] {
  const dearest = Math.max(...pairs.map(({ costUsd, questions }) => (costUsd ?? 0) * questions));
  return pairs.map((pair) => {
    const { questions, costUsd, spread } = pair;
    const row = (kind: PowerRow['kind'], asked: number, repeated: number): PowerRow => ({
      kind,
      questions: asked,
      replicates: repeated,
      resolves: asked < 2 ? null : resolvedBy(spread, asked, repeated),
      cells: 2 * asked * repeated,
      costUsd: costUsd === null ? null : costUsd * asked * repeated,
    });
    const affordable =
      costUsd === null || costUsd === 0 ? questions : Math.floor(dearest / costUsd);
    const doubled = row('questions', 2 * questions, replicates);
    const repeated = row('replicates', questions, 2 * replicates);
    const rows = [
      row('plan', questions, replicates),
      doubled,
      ...(spread.replicate === null ? [] : [repeated]),
      ...(affordable > questions ? [row('dollars', affordable, replicates)] : []),
    ];
    return { ...pair, rows, advice: adviceOf(spread, doubled, repeated) };
  });
}

function resolvedBy(
  spread: DifferenceSpread,
  questions: number,
  replicates: number,
): number | null {
  const isExact = spread.isBinary && replicates === 1;
  const deviation = deviationAt(spread, replicates);
  const resolved = minimumDetectableEffect(deviation, questions, { isExact });
  return resolved > 1 ? null : resolved;
}

function adviceOf(
  { replicate }: DifferenceSpread,
  doubled: PowerRow,
  repeated: PowerRow,
): PairPower['advice'] {
  // Replicates that never differed say nothing about how much more of them would help.
  if (replicate === null || replicate === 0) return null;
  if (doubled.resolves === null || repeated.resolves === null) return null;
  // Twice the questions always resolve more, but new ones have to be found: replicates that do nearly as much are worth more.
  return repeated.resolves <= doubled.resolves * NEARLY ? 'more replicates' : 'more questions';
}

/** A difference that is larger by less than this factor is as good. */
const NEARLY = 1.1;
