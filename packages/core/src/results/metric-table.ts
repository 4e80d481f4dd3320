import type { ConfigSummary, MetricSummary } from './summary.ts';
import { formatFigure, NO_FIGURE } from './summary-formats.ts';
import { renderTable, type TableForm } from './table.ts';

/** Any of the summaries that have metrics. */
interface WithMetrics {
  readonly metrics?: Readonly<Record<string, MetricSummary>> | undefined;
}

/**
 * The names of the metrics of several configs, in the order in which they come.
 *
 * @param withControls - Whether the leads over answers without content are among them.
 */
export function metricNamesOf(
  configs: readonly ConfigSummary[],
  { withControls }: { readonly withControls: boolean },
): readonly string[] {
  const metrics = configs.flatMap((config) => Object.entries(config.metrics ?? {}));
  const shown = metrics.filter(([, { control }]) => withControls || control === undefined);
  return [...new Set(shown.map(([name]) => name))];
}

const DATA_FIGURES = ['n', 'mean', 'variance', 'sum'] as const;

/** The columns of a metric in CSV: its figures in `summary.json`. */
export function metricDataNames(metric: string): readonly string[] {
  return DATA_FIGURES.map((figure) => `metrics.${metric}.${figure}`);
}

/** What stands in the columns of a metric in CSV. */
export function metricDataOf({ metrics }: WithMetrics, metric: string): readonly (number | null)[] {
  return DATA_FIGURES.map((figure) => metrics?.[metric]?.[figure] ?? null);
}

/**
 * Renders one row per config and metric; empty if no config has any.
 *
 * The leads over answers without content are left out: {@link controlNotes} tells of those that matter.
 */
export function renderMetrics(
  configs: readonly ConfigSummary[],
  form: TableForm,
  width: number | undefined,
): string {
  const rows = configs.flatMap(({ config, metrics = {} }) =>
    Object.entries(metrics)
      .filter(([, { control }]) => control === undefined)
      .map(([metric, { n, mean, variance, sum, unit, better }]) => {
        const deviation = variance === null ? null : Math.sqrt(variance);
        const figures = [mean, deviation, sum].map(formatFigure);
        return [config, metric, String(n), ...figures, unit ?? NO_FIGURE, better ?? NO_FIGURE];
      }),
  );
  if (rows.length === 0) return '';
  const header = ['config', 'metric', 'n', 'mean', 'sd', 'sum', 'unit', 'better'];
  return renderTable(header, rows, form, width);
}

/** Says which configs an answer without content beats. */
export function controlNotes(configs: readonly ConfigSummary[]): readonly string[] {
  return configs.flatMap(({ config, metrics = {} }) =>
    Object.values(metrics).flatMap(({ control, mean }) =>
      control === undefined || mean === null || mean >= 0
        ? []
        : [
            `${config}: beaten by ${control}, which its scorer gives ${(-100 * mean).toFixed(1)} points more: the scores do not measure answers`,
          ],
    ),
  );
}
