import { sumKnown } from '../domain/known-sum.ts';
import type { ConfigSummary, ReplicateSummary } from './summary.ts';
import {
  formatDollars,
  formatPercent,
  formatPercentRange,
  formatSeconds,
} from './summary-formats.ts';

/** A column of the summary table. */
export interface SummaryColumn<Value = unknown> {
  readonly title: string;
  /** True if the text form omits the column while no config has a figure other than none or 0. */
  readonly isHiddenWhenEmpty?: boolean;
  /** Picks the figure of a config; null if it is unknown or withheld. */
  value(config: ConfigSummary): Value;
  format(value: Value): string;
}

/** The columns of the summary table, from left to right. To add one, add an entry. */
export const summaryColumns: readonly SummaryColumn[] = [
  column({ title: 'config', value: ({ config }) => config, format: String }),
  column({
    title: 'score',
    value: (config) => (hasHeadline(config) ? toNumber(config.mean['score']) : null),
    format: formatPercent,
  }),
  column({ title: 'sd', isHiddenWhenEmpty: true, value: scoreDeviation, format: formatPercent }),
  column({
    title: 'ci95',
    isHiddenWhenEmpty: true,
    value: scoreInterval,
    format: formatPercentRange,
  }),
  column({
    title: 'bounds',
    value: ({ mean }) => [toNumber(mean['scoreLower']), toNumber(mean['scoreUpper'])] as const,
    format: formatPercentRange,
  }),
  column({
    title: 'coverage',
    value: ({ mean }) => toNumber(mean['coverage']),
    format: formatPercent,
  }),
  column({ title: 'scored', value: totalOf(({ scored }) => scored), format: String }),
  column({ title: 'unparsed', value: totalOf(({ unparsed }) => unparsed), format: String }),
  column({
    title: 'ungraded',
    isHiddenWhenEmpty: true,
    value: totalOf(({ ungraded }) => ungraded),
    format: String,
  }),
  column({
    title: 'failed',
    isHiddenWhenEmpty: true,
    value: totalOf(({ failed }) => failed),
    format: String,
  }),
  column({
    title: 'not attempted',
    isHiddenWhenEmpty: true,
    value: totalOf(({ notAttempted }) => notAttempted),
    format: String,
  }),
  column({ title: 'n', value: totalOf(({ questions }) => questions), format: String }),
  column({ title: 'p50 s', value: medianLatency, format: formatSeconds }),
  column({
    title: 'cost',
    isHiddenWhenEmpty: true,
    value: totalOfKnown(({ costUsd }) => costUsd),
    format: formatDollars,
  }),
  column({
    title: 'waste',
    isHiddenWhenEmpty: true,
    value: totalOfKnown(({ wasteUsd }) => wasteUsd),
    format: formatDollars,
  }),
];

/** Checks that a column's `format` accepts what its `value` returns. */
export function column<Value>(entry: SummaryColumn<Value>): SummaryColumn {
  return entry;
}

/** A config shows its score only if every replicate reaches the coverage floor. */
function hasHeadline({ replicates }: ConfigSummary): boolean {
  return replicates.every(({ headline }) => headline !== null);
}

function scoreDeviation(config: ConfigSummary): number | null {
  const variance = toNumber(config.variance['score']);
  return variance === null || !hasHeadline(config) ? null : Math.sqrt(variance);
}

/** The interval of a single replicate; several have their standard deviation instead. */
function scoreInterval(config: ConfigSummary): readonly [number, number] | null {
  const [only] = config.replicates.length === 1 ? config.replicates : [];
  return hasHeadline(config) ? (only?.ci95 ?? null) : null;
}

function medianLatency({ mean }: ConfigSummary): number | null {
  const latency = mean['latency'];
  return typeof latency === 'object' && latency !== null ? toNumber(latency['p50S']) : null;
}

function totalOfKnown(amount: (replicate: ReplicateSummary) => number | null) {
  return ({ replicates }: ConfigSummary): number | null => sumKnown(replicates.map(amount));
}

function totalOf(count: (replicate: ReplicateSummary) => number) {
  return ({ replicates }: ConfigSummary): number =>
    replicates.reduce((sum, replicate) => sum + count(replicate), 0);
}

function toNumber(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}
