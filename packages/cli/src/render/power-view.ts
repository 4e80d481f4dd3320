import {
  countOf,
  formatDollars,
  formatPercent,
  NO_FIGURE,
  type PairPower,
  renderTable,
  wrapLine,
} from '@thrice/core';
import { labelWhole } from './next-command.ts';

/** What a plan resolves, and the group that shows how much scores vary. */
export interface Power {
  readonly benchmark: string;
  readonly pilot: string | null;
  readonly pairs: readonly PairPower[];
}

const KINDS = {
  plan: 'the plan',
  questions: 'twice the questions',
  replicates: 'twice the replicates',
  dollars: 'for as many dollars as the dearest pair',
} as const;

/**
 * Renders what a plan resolves between each pair of configs, and what more of it would.
 *
 * @param runPilot - The command that runs a pilot, as it is typed.
 * @param width - Characters of a line; undefined for no limit.
 */
export function renderPower(
  { benchmark, pilot, pairs }: Power,
  runPilot: string,
  width: number | undefined,
): string {
  const rows = pairs.flatMap(({ a, b, rows: own }) =>
    own.map((row) => [
      ...[a, b, KINDS[row.kind], String(row.questions), String(row.replicates)],
      row.resolves === null ? NO_FIGURE : formatPercent(row.resolves),
      ...[String(row.cells), formatDollars(row.costUsd)],
    ]),
  );
  const header = ['A', 'B', 'with', 'questions', 'replicates', 'resolves', 'cells', 'cost'];
  const isMeasured = pairs.every(({ spread }) => spread.questions > 0);
  const lines = [
    'resolves: the smallest difference between the scores of A and B, in points, that a comparison calls one in 80 of 100 cases, at 5 %; beside other comparisons it is larger',
    ...describeSource(benchmark, pilot, pairs),
    ...pairs.flatMap(({ a, b, advice }) => (advice === null ? [] : [`${a} and ${b}: ${advice}`])),
  ];
  return [
    renderTable(header, rows, 'text', width),
    ...lines.map((line) => wrapLine(line, width)),
    ...(isMeasured ? [] : [labelWhole('a pilot says more', runPilot, width)]),
  ].join('\n');
}

function describeSource(
  benchmark: string,
  pilot: string | null,
  pairs: readonly PairPower[],
): readonly string[] {
  const measured = pairs.filter(({ spread }) => spread.questions > 0);
  const found = measured.map(
    ({ a, b, spread }) =>
      `${a} and ${b}: scores vary as over ${countOf(spread.questions, 'question')} of ${pilot}${spread.replicate === null ? '; what replicates add is not known, for none has two' : ''}`,
  );
  if (measured.length === pairs.length) return found;
  const assumed =
    pilot === null
      ? `no group of ${benchmark} has answers`
      : `${pilot} has no answers of both configs of ${measured.length === 0 ? 'any pair' : 'the other pairs'}`;
  return [
    ...found,
    `${assumed}: assumed are scores that are right on half of the questions, each on its own`,
  ];
}
