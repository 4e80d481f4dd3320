import {
  countOf,
  type Figure,
  type GoldReport,
  type JudgeReport,
  renderTable,
  wrapLine,
} from '@thrice/core';

/**
 * Describes how far the judges of a group agree, with each other and with people.
 *
 * @param width - Characters of a line. @default no limit
 */
export function describeJudges(
  report: JudgeReport,
  gold: GoldReport | undefined,
  width?: number,
): string {
  const { overall, configs, judges } = report;
  const panels = [...configs, { config: 'all', ...overall }].map((panel) => [
    panel.config,
    String(panel.itemCount),
    String(panel.verdictCount),
    String(panel.tiedCount),
    showFigure(panel.flipRate),
    showFigure(panel.kappa),
  ]);
  const ranks = judges.flatMap(({ judge, verdictCount, agreement, configs: own }) =>
    own.map(({ config, score, rank }) => [
      judge,
      config,
      String(rank),
      score.toFixed(3),
      String(verdictCount),
      showFigure(agreement),
    ]),
  );
  const tables = [
    renderTable(PANEL_TITLES, panels, 'text', width),
    renderTable(RANK_TITLES, ranks, 'text', width),
    ...(gold === undefined ? [] : [describeGold(gold, width)]),
    ...LEGEND.map((line) => wrapLine(line, width)),
  ];
  return tables.join('\n');
}

const PANEL_TITLES = ['config', 'answers', 'verdicts', 'tied', 'flip rate', 'kappa'];
const RANK_TITLES = ['judge', 'config', 'rank', 'score', 'verdicts', 'agreement'];
const LEGEND = [
  'flip rate: the share of pairs of verdicts on one answer that differ; kappa: that of Fleiss',
  'agreement: how often a judge says what most say; beside them 95 % bootstrap intervals over the questions',
];

function describeGold(
  { panel, judges, unmatchedCount }: GoldReport,
  width: number | undefined,
): string {
  const rows = [{ judge: 'all', ...panel }, ...judges].map((each) => [
    each.judge,
    String(each.answerCount),
    showFigure(each.accuracy),
    showFigure(each.kappa),
  ]);
  const table = renderTable(['judge', 'gold', 'accuracy', 'kappa'], rows, 'text', width);
  return unmatchedCount === 0
    ? table
    : `${table}${countOf(unmatchedCount, 'row')} of the gold file: no verdict on that answer\n`;
}

function showFigure(figure: Figure | null): string {
  if (figure === null) return '–';
  const { value, lower, upper } = figure;
  const bounds = lower === null || upper === null ? '' : ` (${show(lower)} to ${show(upper)})`;
  return `${show(value)}${bounds}`;
}

function show(value: number): string {
  return value.toFixed(3);
}
