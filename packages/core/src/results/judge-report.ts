import { majorityOf } from '../scorers/judge/judge-form.ts';
import { bootstrapInterval } from '../statistics/bootstrap-interval.ts';
import { fleissKappa, type Ratings } from '../statistics/fleiss-kappa.ts';
import { flipRate } from '../statistics/flip-rate.ts';
import { mean } from '../statistics/mean.ts';
import { rankOrder } from '../statistics/rank-order.ts';
import { seededRandom } from '../statistics/seeded-random.ts';
import type { JudgedItem } from './judge-verdicts.ts';

/** A figure with its 95 % interval, whose bounds are null where there is too little to tell. */
export interface Figure {
  readonly value: number;
  readonly lower: number | null;
  readonly upper: number | null;
}

/** How far the verdicts on the same answers agree; null where no answer has two. */
export interface PanelFigures {
  /** Answers, or criteria of answers, with a verdict. */
  readonly itemCount: number;
  readonly verdictCount: number;
  /** Those of which as many verdicts say yes as no. */
  readonly tiedCount: number;
  /** Share of pairs of verdicts on one item that differ. */
  readonly flipRate: Figure | null;
  /** Fleiss' kappa; null also where all verdicts are the same. */
  readonly kappa: Figure | null;
}

/** One judge of a panel. Its figures are those of all of its verdicts, where it is asked several times. */
export interface JudgeFigures {
  /** As in `openai/gpt-9`. */
  readonly judge: string;
  readonly verdictCount: number;
  /**
   * Share of its verdicts that say what most do, its own included, over the items with more than one. Null where every such
   * item is tied, or there is none.
   */
  readonly agreement: Figure | null;
  /** What the configs score by its verdicts alone, and their ranks by that, in the order of the report. */
  readonly configs: readonly {
    readonly config: string;
    /** The mean of its verdicts, 0..1. */
    readonly score: number;
    /** From 1, for the highest score. */
    readonly rank: number;
  }[];
}

/** What the verdicts on the answers of a group say of its judges. */
export interface JudgeReport {
  readonly overall: PanelFigures;
  readonly configs: readonly ({ readonly config: string } & PanelFigures)[];
  readonly judges: readonly JudgeFigures[];
}

/**
 * Reports how far the judges of a group agree: with each other, with themselves where they are asked again, and on the
 * order of the configs. A verdict of at least one half is a yes.
 *
 * Intervals are those of a bootstrap over the questions, the same in every report of the same verdicts.
 *
 * @param items - Configs and judges are reported in the order in which they occur first.
 */
export function reportJudges(items: readonly JudgedItem[]): JudgeReport {
  const configs = Map.groupBy(items, ({ config }) => config);
  const judges = new Set(items.flatMap(({ verdicts }) => verdicts.map(({ judge }) => judge)));
  return {
    overall: figuresOf(items, 'all configs'),
    configs: [...configs].map(([config, own]) => ({ config, ...figuresOf(own, config) })),
    judges: [...judges].map((judge) => judgeFiguresOf(judge, items, [...configs.keys()])),
  };
}

function figuresOf(items: readonly JudgedItem[], seed: string): PanelFigures {
  const rated = items.filter(({ verdicts }) => verdicts.length > 0);
  return {
    itemCount: rated.length,
    verdictCount: rated.reduce((sum, { verdicts }) => sum + verdicts.length, 0),
    tiedCount: rated.filter((item) => panelOf(item) === undefined).length,
    flipRate: figureOf(rated, ratingsOf, flipRate, `flip rate, ${seed}`),
    kappa: figureOf(rated, ratingsOf, fleissKappa, `kappa, ${seed}`),
  };
}

function judgeFiguresOf(
  judge: string,
  items: readonly JudgedItem[],
  configs: readonly string[],
): JudgeFigures {
  const own = items.flatMap((item) => {
    const verdicts = item.verdicts.filter((verdict) => verdict.judge === judge);
    // Alone, a verdict is that of its panel.
    const panel = item.verdicts.length < 2 ? undefined : panelOf(item);
    return verdicts.length === 0 ? [] : [{ ...item, verdicts, panel }];
  });
  const decided = own.filter(({ panel }) => panel !== undefined);
  const scores = new Map(
    configs.flatMap((config) => {
      const said = own
        .filter((item) => item.config === config)
        .flatMap(({ verdicts }) => verdicts.map(({ score }) => score));
      const score = mean(said);
      return score === undefined ? [] : [[config, score] as const];
    }),
  );
  const ranks = rankOrder(scores);
  return {
    judge,
    verdictCount: own.reduce((sum, { verdicts }) => sum + verdicts.length, 0),
    agreement: figureOf(decided, agreementOf, shareOf, `agreement, ${judge}`),
    configs: [...scores].map(([config, score]) => ({
      config,
      score,
      rank: ranks.get(config) ?? 0,
    })),
  };
}

/** How many verdicts of how many. */
type Share = readonly [count: number, of: number];

function agreementOf({
  verdicts,
  panel,
}: JudgedItem & { readonly panel: boolean | undefined }): Share {
  return [verdicts.filter((verdict) => isYes(verdict) === panel).length, verdicts.length];
}

/** The share of several shares together; undefined of nothing. */
export function shareOf(shares: readonly Share[]): number | undefined {
  let [count, of] = [0, 0];
  for (const share of shares) {
    count += share[0];
    of += share[1];
  }
  return of === 0 ? undefined : count / of;
}

/**
 * Computes a figure of items, with its bootstrap interval over their questions.
 *
 * @param read - What the figure is computed of.
 * @param seed - What the resampling depends on, so that a figure does not change with the others of its report.
 */
export function figureOf<Item extends { readonly id: string }, Value>(
  items: readonly Item[],
  read: (item: Item) => Value,
  statistic: (values: readonly Value[]) => number | undefined,
  seed: string,
): Figure | null {
  const value = statistic(items.map(read));
  if (value === undefined) return null;
  const byQuestion = Map.groupBy(items, ({ id }) => id);
  const clusters = [...byQuestion.values()].map((cluster) => cluster.map(read));
  const bounds = bootstrapInterval(clusters, statistic, seededRandom(seed));
  return { value, lower: bounds?.[0] ?? null, upper: bounds?.[1] ?? null };
}

function ratingsOf({ verdicts }: JudgedItem): Ratings {
  const yes = verdicts.filter(isYes).length;
  return [yes, verdicts.length - yes];
}

/** What most verdicts on an item say; undefined for a tie. */
export function panelOf({ verdicts }: JudgedItem): boolean | undefined {
  return majorityOf(verdicts.map(isYes));
}

/** Whether a verdict is a yes. */
function isYes({ score }: { readonly score: number }): boolean {
  return score >= 0.5;
}
