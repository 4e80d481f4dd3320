import { totalKnown } from '../domain/known-sum.ts';

/** An estimated amount; null for what cannot be told. */
export interface Estimated {
  readonly expected: number | null;
  readonly lower: number | null;
  readonly upper: number | null;
}

/** What a config of a plan will take, over all runs. */
export interface ConfigEstimate {
  readonly config: string;
  /** The config whose answers its judges grade; null for one that answers. */
  readonly grades: string | null;
  /** `lane/model` */
  readonly model: string;
  readonly cells: number;
  /** Those that take every call from earlier groups: they cost nothing. */
  readonly reusedCells: number;
  /** Those that take every call from others, some from cells of this plan: they cost nothing. */
  readonly sharedCells: number;
  readonly calls: Estimated;
  readonly inputTokens: Estimated;
  /** More input tokens than this no tokenizer makes of the prompts; null without a bound. */
  readonly inputTokenBound: number | null;
  readonly outputTokens: Estimated;
  readonly costUsd: Estimated;
  /** Why the cost, or its upper bound, is unknown. */
  readonly missing: readonly string[];
}

/** What a plan will take. */
export interface Estimate {
  readonly cells: number;
  readonly reusedCells: number;
  readonly sharedCells: number;
  readonly calls: Estimated;
  readonly inputTokens: Estimated;
  readonly inputTokenBound: number | null;
  readonly outputTokens: Estimated;
  readonly costUsd: Estimated;
  /** From the first call to the last answer. */
  readonly seconds: Estimated;
  readonly configs: readonly ConfigEstimate[];
  /** What each figure assumes, by its name. */
  readonly assumptions: Readonly<
    Record<'calls' | 'inputTokens' | 'outputTokens' | 'costUsd' | 'seconds', string>
  >;
}

/** An amount of which nothing is known but that it is not negative. */
export const UNKNOWN: Estimated = { expected: null, lower: 0, upper: null };

/** An amount that is certain. */
export function certain(amount: number): Estimated {
  return { expected: amount, lower: amount, upper: amount };
}

/** An amount of which the bounds are known; `upper` is null where it has none. */
export function between(lower: number, upper: number | null): Estimated {
  return { expected: lower === upper ? lower : null, lower, upper };
}

/** Adds amounts >= 0: what is unknown of one is unknown of the sum, except that it is no less than the known parts. */
export function addEstimates(amounts: readonly Estimated[]): Estimated {
  return {
    expected: totalKnown(amounts.map(({ expected }) => expected)),
    lower: totalKnown(amounts.map(({ lower }) => lower ?? 0)),
    upper: totalKnown(amounts.map(({ upper }) => upper)),
  };
}
