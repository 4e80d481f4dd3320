import { mean } from '../statistics/mean.ts';
import { sampleVariance } from '../statistics/sample-variance.ts';
import type { Moments, ReplicateSummary } from './summary.ts';

/** Computes the mean and sample variance of every numeric field over replicates. */
export function replicateMoments(replicates: readonly ReplicateSummary[]): {
  readonly mean: Moments;
  readonly variance: Moments;
} {
  return {
    mean: momentsOf(replicates, mean),
    variance: momentsOf(replicates, sampleVariance),
  };
}

type Estimator = (values: readonly number[]) => number | undefined;

function momentsOf(rows: readonly object[], estimate: Estimator): Moments {
  const fields = Object.entries(rows[0] ?? {});
  return Object.fromEntries(
    fields.flatMap(([field, first]): [string, Moments[string]][] => {
      const values = rows.map((row): unknown => Reflect.get(row, field));
      if (typeof first === 'string' || Array.isArray(first)) return [];
      if (values.every(isTable)) return [[field, nestedMoments(values, estimate)]];
      return field === 'ci95' ? [] : [[field, estimateKnown(values, estimate)]];
    }),
  );
}

function nestedMoments(
  rows: readonly object[],
  estimate: Estimator,
): Record<string, number | null> {
  return Object.fromEntries(
    Object.keys(rows[0] ?? {}).map((field) => [
      field,
      estimateKnown(
        rows.map((row): unknown => Reflect.get(row, field)),
        estimate,
      ),
    ]),
  );
}

function isTable(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** If the figure of any replicate is unknown, the moment is unknown rather than an average of fewer. */
function estimateKnown(values: readonly unknown[], estimate: Estimator): number | null {
  const known = values.filter((value) => typeof value === 'number');
  return known.length === values.length ? (estimate(known) ?? null) : null;
}
