import type { ExportedRun } from '@thrice/core';
import type { FormatView } from '../result-format.ts';
import { type EchoFigures, echoFigures } from './echo-figures.ts';

/** A figure that is not there. */
const NONE = '–';

/** Shows the arms of a run as Echo's tables do. */
export function viewEcho(run: ExportedRun): FormatView {
  const figures = echoFigures(run);
  return {
    figures,
    header: [
      'config',
      'passed',
      'scored',
      'calls',
      'escalated',
      'flat units',
      'priced units',
      'as oracle',
      'never escalating',
      'only this',
      'only sonnet',
      'p',
    ],
    rows: figures.map(toCells),
    legend: [
      'passed: of all rows, as Echo publishes it; one without a score counts as wrong',
      'units: 1 is a call of Haiku with a persona; flat ones count calls, priced ones go by list prices, and a row whose calls threw is charged like an accepted one: in both of an arm with a paid judge, in flat ones of the other pairs; what a run really costs is in costUsd',
      'as oracle: rows with the decision of echo-oracle, beside what never escalating would reach',
      'only this, only sonnet: pairs with a score that one of the two passes; p of the exact McNemar test',
    ],
  };
}

function toCells(figures: EchoFigures): readonly string[] {
  const { config, rows, passed, scored, calls, escalated, units, oracle, sonnet } = figures;
  return [
    config,
    `${passed}/${rows}`,
    String(scored),
    String(calls),
    escalated === null ? NONE : String(escalated),
    units === null || units.flat === null ? NONE : String(units.flat),
    units?.priced.toFixed(1) ?? NONE,
    oracle === null ? NONE : `${oracle.all.same}/${oracle.all.tasks}`,
    oracle === null ? NONE : `${oracle.all.neverEscalate}/${oracle.all.tasks}`,
    sonnet === null ? NONE : String(sonnet.onlyThis),
    sonnet === null ? NONE : String(sonnet.onlySonnet),
    sonnet?.pValue.toFixed(4) ?? NONE,
  ];
}
