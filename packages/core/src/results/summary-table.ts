import type { ConfigSummary, ReplicateSummary, Summary } from './summary.ts';
import { renderTable, type TableForm } from './table.ts';

/** What stands where a figure is unknown or must not be shown. */
const NONE = '–';

/**
 * The table over replicates: a row a config, every score with its bounds, coverage and n.
 *
 * Below the coverage floor the headline is withheld, with its interval and every named average, and
 * the bounds says what the score can be. The text form leaves out what no config has, to fit a terminal; the others have every column.
 */
export function renderSummary(summary: Summary, form: TableForm): string {
  const header = [
    'config',
    'score',
    'sd',
    'ci95',
    'bounds',
    'coverage',
    'scored',
    'unparsed',
    'ungraded',
    'failed',
    'not attempted',
    'n',
    'p50 s',
    'cost',
  ];
  const rows = summary.configs.map(summaryRow);
  if (form === 'csv') return renderTable(header, rows, form);
  const table = form === 'md' ? renderTable(header, rows, form) : renderNarrow(header, rows);
  return [describeGroup(summary), table, ...notes(summary)]
    .filter((part) => part !== '')
    .join('\n');
}

/** Columns that say something only where an entry is neither none nor 0. */
const OPTIONAL_COLUMNS = ['sd', 'ci95', 'ungraded', 'failed', 'not attempted', 'cost'];

function renderNarrow(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const isShown = header.map(
    (title, column) =>
      !OPTIONAL_COLUMNS.includes(title) ||
      rows.some((row) => row[column] !== NONE && row[column] !== '0'),
  );
  const keep = (cells: readonly string[]) => cells.filter((_, column) => isShown[column]);
  return renderTable(keep(header), rows.map(keep), 'text');
}

function summaryRow(entry: ConfigSummary): string[] {
  const { replicates } = entry;
  const total = (pick: (replicate: ReplicateSummary) => number) =>
    replicates.reduce((sum, replicate) => sum + pick(replicate), 0);
  const hasHeadline = replicates.every(({ headline }) => headline !== null);
  const variance = number(entry.variance['score']);
  const [only] = replicates.length === 1 ? replicates : [];
  return [
    entry.config,
    hasHeadline ? percent(number(entry.mean['score'])) : NONE,
    variance === null || !hasHeadline ? NONE : percent(Math.sqrt(variance)),
    hasHeadline && only?.ci95 ? `${percent(only.ci95[0])}–${percent(only.ci95[1])}` : NONE,
    `${percent(number(entry.mean['scoreLower']))}–${percent(number(entry.mean['scoreUpper']))}`,
    percent(number(entry.mean['coverage'])),
    String(total(({ scored }) => scored)),
    String(total(({ unparsed }) => unparsed)),
    String(total(({ ungraded }) => ungraded)),
    String(total(({ failed }) => failed)),
    String(total(({ notAttempted }) => notAttempted)),
    String(total(({ questions }) => questions)),
    seconds(nested(entry.mean['latency'], 'p50S')),
    dollars(replicates.map(({ costUsd }) => costUsd)),
  ];
}

/**
 * The values of one tag, a row each for every config: counts over all replicates.
 *
 * A score stands only where the scores on its own cells reach the coverage floor.
 */
export function renderTagTable(summary: Summary, tag: string, form: TableForm): string {
  const rows = summary.configs.flatMap(({ config, byTag }) =>
    Object.entries(byTag[tag] ?? {}).map(([value, counts]) => [
      config,
      value,
      isCovered(counts, summary.coverageFloor) ? percent(counts.score) : NONE,
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
  const floor = percent(summary.coverageFloor);
  const lines = withheld.map(
    ({ config }) => `${config}: no headline, coverage is below the floor of ${floor}`,
  );
  const truncated = summary.configs.flatMap(({ config, replicates }) => {
    const count = replicates.reduce((sum, replicate) => sum + replicate.truncated, 0);
    return count === 0 ? [] : [`${config}: ${count} answers were cut off by their token limit`];
  });
  const averages = summary.configs.flatMap((entry) => averageLines(entry, summary.coverageFloor));
  return [[...lines, ...truncated].join('\n'), averages.join('\n')]
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
    const shown = isWithheld ? `withheld (coverage ${percent(lowest)} %)` : percentFine(value);
    return `${config}: ${shown} ${label}`;
  });
}

function number(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function nested(value: unknown, field: string): number | null {
  return typeof value === 'object' && value !== null ? number(Reflect.get(value, field)) : null;
}

function percent(ratio: number | null): string {
  return ratio === null ? NONE : (ratio * 100).toFixed(1);
}

/** Four decimals: what the published averages are given with. */
function percentFine(ratio: number | null): string {
  return ratio === null ? 'not given (set incomplete)' : (ratio * 100).toFixed(4);
}

function seconds(value: number | null): string {
  return value === null ? NONE : value.toFixed(2);
}

function dollars(costs: readonly (number | null)[]): string {
  if (costs.some((cost) => cost === null)) return NONE;
  return `$${costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0).toFixed(4)}`;
}
