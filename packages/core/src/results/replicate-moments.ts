import { ownValue } from '../domain/question.ts';
import { mean } from '../statistics/mean.ts';
import { sampleVariance } from '../statistics/sample-variance.ts';
import type { Moments, ReplicateSummary } from './summary.ts';

/** Computes the mean and sample variance of every numeric field over replicates. */
export function replicateMoments(replicates: readonly ReplicateSummary[]): {
  readonly mean: Moments;
  readonly variance: Moments;
} {
  const metrics = metricMeans(replicates);
  const plain = replicates.map(({ metrics: _, ...fields }) => fields);
  const momentsBy = (estimate: Estimator) => ({
    ...momentsOf(plain, estimate),
    ...(metrics && { metrics: nestedMoments(metrics, estimate) }),
  });
  return { mean: momentsBy(mean), variance: momentsBy(sampleVariance) };
}

/** The means of the metrics of each replicate, null where one has none; undefined where none has any. */
function metricMeans(
  replicates: readonly ReplicateSummary[],
): readonly Readonly<Record<string, number | null>>[] | undefined {
  const names = new Set(replicates.flatMap(({ metrics = {} }) => Object.keys(metrics)));
  if (names.size === 0) return undefined;
  return replicates.map(({ metrics = {} }) =>
    Object.fromEntries([...names].map((name) => [name, ownValue(metrics, name)?.mean ?? null])),
  );
}

type Estimator = (values: readonly number[]) => number | undefined;

function momentsOf(rows: readonly object[], estimate: Estimator): Moments {
  const fields = Object.entries(rows[0] ?? {});
  return Object.fromEntries(
    fields.flatMap(([field, first]): [string, Moments[string]][] => {
      const values = rows.map((row): unknown => Reflect.get(row, field));
      if (typeof first === 'string' || Array.isArray(first)) return [];
      if (values.every(isTable)) return [[field, nestedMoments(values, estimate)]];
      return isInterval(field) ? [] : [[field, estimateKnown(values, estimate)]];
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

/** Also where it is null: an interval has no moments. */
function isInterval(field: string): boolean {
  return /ci95$/iu.test(field);
}

function isTable(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** If the figure of any replicate is unknown, the moment is unknown rather than an average of fewer. */
function estimateKnown(values: readonly unknown[], estimate: Estimator): number | null {
  const known = values.filter((value) => typeof value === 'number');
  return known.length === values.length ? (estimate(known) ?? null) : null;
}
