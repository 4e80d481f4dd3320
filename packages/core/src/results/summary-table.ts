import type { ConfigSummary, Summary } from './summary.ts';
import { type SummaryColumn, summaryColumns } from './summary-columns.ts';
import { formatDollars, formatPercent, NO_FIGURE } from './summary-formats.ts';
import { renderTable, type TableForm } from './table.ts';

/**
 * Renders the summary over replicates, one row per config: every score with its bounds, coverage and
 * number of questions.
 *
 * Below the coverage floor, the headline, its interval and every named average are withheld; the
 * bounds show what the score can be. The text form omits columns without figures to fit a terminal;
 * the other forms have every column. Below the table, CSV apart, a line says what counts as what.
 */
export function renderSummary(
  summary: Summary,
  form: TableForm,
  columns: readonly SummaryColumn[] = summaryColumns,
): string {
  const table = renderColumns(summary.configs, form, columns);
  if (form === 'csv') return table;
  return [describeGroup(summary), table, ...notes(summary)]
    .filter((part) => part !== '')
    .join('\n');
}

/** What counts as what, for a reader who knows the table only. */
const LEGEND =
  'score: the mean over scored and unparsed cells, an unparsed answer scoring 0; ungraded, failed and not attempted cells count only in coverage and bounds';

const emptyCells: ReadonlySet<string> = new Set([NO_FIGURE, '0', formatDollars(0)]);

function renderColumns(
  configs: readonly ConfigSummary[],
  form: TableForm,
  columns: readonly SummaryColumn[],
): string {
  const rendered = columns.map(({ title, isHiddenWhenEmpty, value, format }) => {
    const cells = configs.map((config) => format(value(config)));
    const isEmpty = cells.every((cell) => emptyCells.has(cell));
    return { title, cells, isHidden: form === 'text' && isHiddenWhenEmpty === true && isEmpty };
  });
  const shown = rendered.filter(({ isHidden }) => !isHidden);
  return renderTable(
    shown.map(({ title }) => title),
    configs.map((_, row) => shown.map(({ cells }) => cells[row] ?? '')),
    form,
  );
}

/**
 * Renders one row per value of a tag and config, with counts over all replicates.
 *
 * The score is withheld if fewer of the row's cells have a score than the coverage floor asks for.
 */
export function renderTagTable(summary: Summary, tag: string, form: TableForm): string {
  const rows = summary.configs.flatMap(({ config, byTag }) =>
    Object.entries(byTag[tag] ?? {}).map(([value, counts]) => [
      config,
      value,
      isCovered(counts, summary.coverageFloor) ? formatPercent(counts.score) : NO_FIGURE,
      String(counts.correct),
      String(counts.scored + counts.unparsed),
      String(counts.cells),
    ]),
  );
  return renderTable(['config', tag, 'score', 'correct', 'with score', 'cells'], rows, form);
}

function isCovered(
  { scored, unparsed, cells }: ConfigSummary['byTag'][string][string],
  coverageFloor: number,
): boolean {
  return cells > 0 && (scored + unparsed) / cells >= coverageFloor;
}

function describeGroup({ group, questions, configs }: Summary): string {
  const replicateCount = Math.max(0, ...configs.map(({ replicates }) => replicates.length));
  const replicates = replicateCount === 1 ? '1 replicate' : `${replicateCount} replicates`;
  return `${group}: ${questions} questions, ${replicates}\n`;
}

function notes(summary: Summary): string[] {
  const withheld = summary.configs.filter(({ replicates }) =>
    replicates.some(({ headline }) => headline === null),
  );
  const floor = formatPercent(summary.coverageFloor);
  const lines = withheld.map(
    ({ config }) => `${config}: no headline, coverage is below the floor of ${floor}`,
  );
  const truncated = summary.configs.flatMap(({ config, replicates }) => {
    const count = replicates.reduce((sum, replicate) => sum + replicate.truncated, 0);
    return count === 0 ? [] : [`${config}: ${count} answers were cut off by their token limit`];
  });
  const otherModels = summary.configs.flatMap(({ config, servedModels }) =>
    servedModels
      .filter(({ isOther }) => isOther)
      .map(
        ({ model, servedModel, calls }) =>
          `${config}: answers of ${model} from "${servedModel}": ${calls}`,
      ),
  );
  const averages = summary.configs.flatMap((entry) => averageLines(entry, summary.coverageFloor));
  return [[LEGEND, ...lines, ...truncated, ...otherModels].join('\n'), averages.join('\n')]
    .filter((part) => part !== '')
    .map((part) => `${part}\n`);
}

function averageLines(
  { config, replicates, averages }: ConfigSummary,
  coverageFloor: number,
): string[] {
  const lowest = Math.min(...replicates.map(({ coverage }) => coverage));
  const isWithheld = lowest < coverageFloor;
  return averages.map(({ label, value }) => {
    const shown = isWithheld
      ? `withheld (coverage ${formatPercent(lowest)} %)`
      : formatAverage(value);
    return `${config}: ${shown} ${label}`;
  });
}

/** Four decimals, as the published averages have. */
function formatAverage(ratio: number | null): string {
  return ratio === null ? 'not given (set incomplete)' : (ratio * 100).toFixed(4);
}
