import type { ReplicateFigures } from './replicate-spread.ts';
import { formatFigure, formatPercent, NO_FIGURE } from './summary-formats.ts';
import { renderTable, type TableForm, wrapLine } from './table.ts';

/** Renders how far the replicates of configs agree, a row each; empty for single replicates. */
export function renderReplicates(
  figures: readonly ReplicateFigures[],
  form: TableForm,
  width?: number,
): string {
  if (figures.length === 0) return '';
  const rows = figures.map(({ config, replicates, passAtK, passHatK, flipRate, variance }) => [
    config,
    String(replicates),
    String(passAtK?.count ?? 0),
    formatPercent(passAtK?.value ?? null),
    formatPercent(passHatK?.value ?? null),
    formatPercent(flipRate),
    formatFigure(variance.question ?? null),
    formatFigure(variance.replicate ?? null),
    variance.advice ?? NO_FIGURE,
  ]);
  const header = ['config', 'k', 'n', 'pass@k', 'pass^k', 'flips', 'var q', 'var k', 'advice'];
  const table = renderTable(header, rows, form, width);
  if (form === 'csv') return table;
  const legend =
    'pass@k, pass^k: the chance that one, and that all, of the k replicates of a question have score 1, over the n with k; flips: the share of pairs of replicates that differ; var q, var k: variance between questions, and between replicates of one';
  return `${table}\n${wrapLine(legend, width)}\n`;
}
