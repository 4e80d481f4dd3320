import { type Agreement, cohenKappa, type ExportedRun, hasScore, mcnemarTest } from '@thrice/core';
import { type Arm, armOf, SONNET_UNITS } from './arms.ts';
import type { EchoRow } from './echo-row.ts';
import { toEchoRow } from './to-echo-row.ts';

/** What Echo says of an arm, beside scores. */
export interface EchoFigures {
  readonly config: string;
  /** Rows that Echo has, and those of them that it passes: it counts a row without a score as a wrong one. */
  readonly rows: number;
  readonly passed: number;
  readonly scored: number;
  readonly calls: number;
  /** Null for an arm that cannot escalate, or is none of Echo's. */
  readonly escalated: number | null;
  /** Of all rows; null if that of one is unknown. */
  readonly meanSeconds: number | null;
  /** Null for an arm that is none of Echo's. */
  readonly units: EchoUnits | null;
  /** How often it escalates where the oracle does; null without an oracle in the run. */
  readonly oracle: { readonly all: Alignment; readonly scored: Alignment } | null;
  /** The pairs with a score under this arm and `sonnet-only`; null without that arm. */
  readonly sonnet: SonnetPairs | null;
}

/** A view on the calls of an arm: their true cost is another. */
export interface EchoUnits {
  /** Null where Echo defines none. */
  readonly flat: number | null;
  readonly priced: number;
  /** Of the rows with a score alone. */
  readonly pricedScored: number;
}

/** The decisions of an arm beside those of the oracle. */
export interface Alignment {
  readonly tasks: number;
  readonly same: number;
  readonly bothEscalate: number;
  readonly falseEscalate: number;
  readonly missedEscalate: number;
  /** What an arm would reach that never escalates. */
  readonly neverEscalate: number;
  /** Null where it is undefined. */
  readonly kappa: number | null;
}

/** Pairs of one task under two arms, by who passes it. */
export interface SonnetPairs {
  readonly pairs: number;
  readonly onlyThis: number;
  readonly onlySonnet: number;
  readonly pValue: number;
}

/** A row and whether it has a score. */
interface ScoredRow {
  readonly row: EchoRow;
  readonly isScored: boolean;
}

/** The rows of an arm by task. */
type ArmRows = ReadonlyMap<string, ScoredRow>;

/** Computes what Echo says of the arms of a run. A config whose name is no arm's has neither units nor escalations. */
export function echoFigures({ header, rows }: ExportedRun): readonly EchoFigures[] {
  const arms = new Map(header.configs.map(({ config }) => [config, new Map<string, ScoredRow>()]));
  for (const cell of rows) {
    const row = toEchoRow(cell);
    if (row !== undefined)
      arms.get(cell.config)?.set(cell.id, { row, isScored: hasScore(cell.outcome) });
  }
  return [...arms].map(([config, own]) => describeArm(config, own, arms));
}

function describeArm(
  config: string,
  own: ArmRows,
  arms: ReadonlyMap<string, ArmRows>,
): EchoFigures {
  const arm = armOf(config);
  const all = [...own.values()];
  const oracle = config === 'echo-oracle' ? undefined : arms.get('echo-oracle');
  const sonnet = config === 'sonnet-only' ? undefined : arms.get('sonnet-only');
  const isEscalating = arm?.canEscalate === true;
  return {
    config,
    rows: all.length,
    passed: count(all, ({ row }) => row.passed),
    scored: count(all, ({ isScored }) => isScored),
    calls: total(all, ({ row }) => row.sub_calls),
    escalated: isEscalating ? count(all, ({ row }) => isEscalated(arm, row)) : null,
    meanSeconds: meanSecondsOf(all),
    units: arm === undefined ? null : unitsOf(arm, all),
    oracle: isEscalating && oracle !== undefined ? alignmentsOf(arm, own, oracle) : null,
    sonnet: sonnet === undefined ? null : pairWith(sonnet, own),
  };
}

function count(rows: readonly ScoredRow[], isCounted: (row: ScoredRow) => boolean): number {
  return rows.filter(isCounted).length;
}

function total(rows: readonly ScoredRow[], amountOf: (row: ScoredRow) => number): number {
  return rows.reduce((sum, row) => sum + amountOf(row), 0);
}

function isEscalated({ canEscalate, acceptedCalls }: Arm, { sub_calls: calls }: EchoRow): boolean {
  return canEscalate && calls === acceptedCalls + 1;
}

function meanSecondsOf(rows: readonly ScoredRow[]): number | null {
  const isKnown = rows.length > 0 && rows.every(({ row }) => row.wall_seconds !== null);
  return isKnown ? total(rows, ({ row }) => row.wall_seconds ?? 0) / rows.length : null;
}

function unitsOf(arm: Arm, rows: readonly ScoredRow[]): EchoUnits {
  const { flatUnits, pricedUnits, chargesFailures } = arm;
  const flat = (units: number) => (row: ScoredRow) =>
    rowUnits(arm, row.row, { accepted: units, failed: chargesFailures === 'none' ? 0 : units });
  const failed = chargesFailures === 'both' ? pricedUnits : 0;
  const priced = (row: ScoredRow) => rowUnits(arm, row.row, { accepted: pricedUnits, failed });
  const scored = rows.filter(({ isScored }) => isScored);
  return {
    flat: flatUnits === null ? null : total(rows, flat(flatUnits)),
    priced: total(rows, priced),
    pricedScored: total(scored, priced),
  };
}

/** @param units - Of a task whose first answer is accepted, and of one whose calls threw. */
function rowUnits(
  arm: Arm,
  row: EchoRow,
  units: { readonly accepted: number; readonly failed: number },
): number {
  if (row.sub_calls === 0) return units.failed;
  return units.accepted + (isEscalated(arm, row) ? SONNET_UNITS : 0);
}

function alignmentsOf(arm: Arm, own: ArmRows, oracle: ArmRows): EchoFigures['oracle'] {
  const oracleArm = armOf('echo-oracle');
  const decisions = pairsOf(own, oracle).map(([mine, its]) => ({
    isScored: mine.isScored && its.isScored,
    escalates: isEscalated(arm, mine.row),
    should: oracleArm !== undefined && isEscalated(oracleArm, its.row),
  }));
  return {
    all: align(decisions),
    scored: align(decisions.filter(({ isScored }) => isScored)),
  };
}

function align(
  decisions: readonly { readonly escalates: boolean; readonly should: boolean }[],
): Alignment {
  const countOf = (escalates: boolean, should: boolean) =>
    decisions.filter((each) => each.escalates === escalates && each.should === should).length;
  const agreement: Agreement = {
    bothYes: countOf(true, true),
    onlyFirst: countOf(true, false),
    onlySecond: countOf(false, true),
    bothNo: countOf(false, false),
  };
  const { bothYes, onlyFirst, onlySecond, bothNo } = agreement;
  return {
    tasks: decisions.length,
    same: bothYes + bothNo,
    bothEscalate: bothYes,
    falseEscalate: onlyFirst,
    missedEscalate: onlySecond,
    neverEscalate: onlyFirst + bothNo,
    kappa: cohenKappa(agreement) ?? null,
  };
}

function pairWith(sonnet: ArmRows, own: ArmRows): SonnetPairs {
  const pairs = pairsOf(own, sonnet).filter(([mine, its]) => mine.isScored && its.isScored);
  const onlyThis = pairs.filter(([mine, its]) => mine.row.passed && !its.row.passed).length;
  const onlySonnet = pairs.filter(([mine, its]) => !mine.row.passed && its.row.passed).length;
  return { pairs: pairs.length, onlyThis, onlySonnet, pValue: mcnemarTest(onlyThis, onlySonnet).p };
}

function pairsOf(left: ArmRows, right: ArmRows): readonly (readonly [ScoredRow, ScoredRow])[] {
  return [...left].flatMap(([id, row]) => {
    const other = right.get(id);
    return other === undefined ? [] : [[row, other] as const];
  });
}
