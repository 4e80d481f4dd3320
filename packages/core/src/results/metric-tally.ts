import * as z from 'zod';
import type { Metrics } from '../domain/grade.ts';
import {
  addValue,
  joinMoments,
  noMoments,
  type RunningMoments,
} from '../statistics/running-moments.ts';
import type { MetricSummary } from './summary.ts';

/** What a {@link MetricTally} has counted so far, by metric. */
export const metricTallySchema = z.array(
  z.tuple([z.string(), z.object({ count: z.int(), sum: z.number(), squares: z.number() })]),
);
/** What a {@link MetricTally} has counted so far, by metric. */
export type MetricTallyState = z.infer<typeof metricTallySchema>;

/** Adds up the metrics of rows, one row at a time; one that a row does not have counts nowhere. */
export class MetricTally {
  readonly #moments = new Map<string, RunningMoments>();

  /** @param from - The states of other tallies, to add. @default no rows added */
  constructor(...from: readonly MetricTallyState[]) {
    for (const [name, moments] of from.flat()) {
      this.#moments.set(name, joinMoments(this.#moments.get(name) ?? noMoments(), moments));
    }
  }

  add(metrics: Metrics): void {
    for (const name in metrics) {
      const moments = this.#moments.get(name) ?? noMoments();
      this.#moments.set(name, moments);
      const value = metrics[name];
      if (typeof value === 'number') addValue(moments, value);
    }
  }

  state(): MetricTallyState {
    return [...this.#moments].map(([name, moments]) => [name, { ...moments }]);
  }

  /** The figures by metric, in the order in which rows had them; undefined if none had any. */
  summarize(): Readonly<Record<string, MetricSummary>> | undefined {
    if (this.#moments.size === 0) return undefined;
    return Object.fromEntries(
      [...this.#moments].map(([name, { count, sum, squares }]) => {
        const isKnown = count > 0;
        const variance = count > 1 ? squares / (count - 1) : null;
        const known = { mean: isKnown ? sum / count : null, variance, sum: isKnown ? sum : null };
        return [name, { n: count, ...known }];
      }),
    );
  }
}
