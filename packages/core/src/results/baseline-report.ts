import { assertNever } from '../errors.ts';
import type { ConfigSummary, Summary } from './summary.ts';
import { formatPercent } from './summary-formats.ts';

/** What a way of answering that needs no model scores. */
export interface Baseline {
  readonly baseline: 'empty' | 'echo' | 'constant-choice' | 'longest-choice' | 'frequent-target';
  /** What it always answers; null where that depends on the question. */
  readonly text: string | null;
  /** Mean score, 0..1, by the scorer of the config; null if no question has a grade. */
  readonly score: number | null;
  /** Questions with a grade. */
  readonly n: number;
}

/** A config beside its baselines. */
export interface ConfigBaselines {
  readonly config: string;
  /** The mean score over replicates; null if it is unknown or withheld. */
  readonly score: number | null;
  /** Empty where none could be scored. */
  readonly baselines: readonly Baseline[];
  /** The one with the highest score, the first of several; null without any score. */
  readonly best: Baseline | null;
  /** Whether the score is above that of the best baseline; null if either is unknown. */
  readonly isAboveBest: boolean | null;
}

/** What floating point adds to a mean of equal scores, at most. */
const ROUNDING = 1e-9;

/**
 * Compares each config with its baselines.
 *
 * @param counted - The baselines by config.
 */
export function compareWithBaselines(
  { configs }: Summary,
  counted: ReadonlyMap<string, readonly Baseline[]>,
): readonly ConfigBaselines[] {
  return configs.map((entry) => {
    const baselines = counted.get(entry.config) ?? [];
    const best = bestBaseline(baselines) ?? null;
    const score = scoreOf(entry);
    const limit = best?.score ?? null;
    const isAboveBest = score === null || limit === null ? null : score > limit + ROUNDING;
    return { config: entry.config, score, baselines, best, isAboveBest };
  });
}

/** The baseline with the highest score, the first of several; undefined if none has a score. */
export function bestBaseline(baselines: readonly Baseline[]): Baseline | undefined {
  return baselines
    .filter(({ score }) => score !== null)
    .toSorted((left, right) => (right.score ?? 0) - (left.score ?? 0))[0];
}

function scoreOf({ replicates, mean }: ConfigSummary): number | null {
  const { score } = mean;
  const isWithheld = replicates.some(({ headline }) => headline === null);
  return isWithheld || typeof score !== 'number' ? null : score;
}

/** Says which configs score no more than a way of answering that needs no model, a line each. */
export function baselineNotes(report: readonly ConfigBaselines[]): readonly string[] {
  return report.flatMap(({ config, score, best, isAboveBest }) =>
    isAboveBest !== false || best === null
      ? []
      : [
          `${config}: ${formatPercent(score)} is no more than ${describeBaseline(best)}, ${formatPercent(best.score)} (n ${best.n})`,
        ],
  );
}

/** Characters of a target that are shown. */
const SHOWN_CHARS = 40;

function describeBaseline({ baseline, text }: Baseline): string {
  const shown = JSON.stringify((text ?? '').slice(0, SHOWN_CHARS));
  switch (baseline) {
    case 'empty':
      return 'an empty answer';
    case 'echo':
      return 'the question echoed';
    case 'constant-choice':
      return `always ${shown}`;
    case 'longest-choice':
      return 'always the longest choice';
    case 'frequent-target':
      return `always ${shown}, the most frequent target`;
    default:
      return assertNever(baseline);
  }
}
