import {
  type BudgetAccount,
  type BudgetRefusal,
  type BudgetSummary,
  countOf,
  formatDollars,
  toUsd,
  type WorkerEvent,
} from '@thrice/core';
import { describeWarning } from './describe-warning.ts';

/** The least that is shown of a dollar is one of so many parts. */
const SHOWN_PER_USD = 10_000;

/** What is shown of a cap and what is spent of it. */
type SpentSummary = Pick<
  BudgetSummary,
  'capUsd' | 'spentUsd' | 'reservedUsd' | 'unknownUsd' | 'unknownCalls'
>;

/** Warns that most of a cap is spent. */
export function describeBudgetWarning(account: BudgetAccount): string {
  const { lane, capNanoUsd, spentNanoUsd } = account;
  const percent = Math.floor((100 * spentNanoUsd) / (capNanoUsd ?? spentNanoUsd));
  return describeWarning(
    'budget-nearly-spent',
    `${percent}% of ${describeCap(lane, toUsd(capNanoUsd ?? 0))} is spent`,
  );
}

/** Warns that a vendor bills more than a request allows. */
export function describeRaisedBound({
  lane,
  model,
  costUsd,
  boundUsd,
  ratio,
}: Extract<WorkerEvent, { kind: 'bound-raised' }>): string {
  const times = Math.ceil(ratio * 10) / 10;
  return describeWarning(
    'cost-above-bound',
    `${lane}/${model}: a call cost ${formatSpent(costUsd)}, and its request allows ${formatDollars(boundUsd)}: the vendor does not keep to max_tokens; each further call counts as up to ${times} times what its request allows`,
  );
}

/** Describes a reached cap as the reason why work is paused. */
export function describeBudgetPause({ account, amountNanoUsd }: BudgetRefusal): string {
  const { lane, capNanoUsd, spentNanoUsd, keptCount, keptNanoUsd } = account;
  const spent = formatSpent(toUsd(spentNanoUsd));
  const next = formatSpent(toUsd(amountNanoUsd));
  const unknown = describeUnknown({ unknownCalls: keptCount, unknownUsd: toUsd(keptNanoUsd) });
  const remedy =
    lane === null
      ? 'raise it, or lift it with --budget-usd none'
      : `raise or remove budget_usd of [lanes.${lane}] in the spec`;
  return `paused: ${describeCap(lane, toUsd(capNanoUsd ?? 0))} is reached: spent ${spent}${unknown}, and the next call may cost up to ${next}; ${remedy}`;
}

/** Describes a budget, and those of lanes, a line each. */
export function describeBudget(budget: BudgetSummary): readonly string[] {
  const ofGroup = budget.capUsd === null ? [] : [`budget: ${describeSpent(budget)}`];
  return [
    ...ofGroup,
    ...budget.lanes.map((each) => `budget of lane ${each.lane}: ${describeSpent(each)}`),
  ];
}

/** Describes what of a budget is spent, for a table. */
export function describeSpentOf({ capUsd, spentUsd }: BudgetSummary): string {
  const spent = formatSpent(spentUsd);
  return capUsd === null ? spent : `${spent} of ${formatDollars(capUsd)}`;
}

function describeCap(lane: string | null, capUsd: number): string {
  const cap = `the budget of ${formatDollars(capUsd)}`;
  return lane === null ? cap : `${cap} for lane ${lane}`;
}

function describeSpent(spent: SpentSummary): string {
  const { capUsd, spentUsd, reservedUsd } = spent;
  const inFlight = reservedUsd === 0 ? '' : `, ${formatSpent(reservedUsd)} reserved`;
  return `${formatSpent(spentUsd)} of ${formatDollars(capUsd)} spent${describeUnknown(spent)}${inFlight}`;
}

function describeUnknown({
  unknownCalls,
  unknownUsd,
}: Pick<SpentSummary, 'unknownCalls' | 'unknownUsd'>): string {
  if (unknownCalls === 0) return '';
  return ` (${countOf(unknownCalls, 'call')} of unknown cost at the worst case: ${formatSpent(unknownUsd)})`;
}

/** What counts on a cap, rounded up: no text says that less is spent, or needed, than is. */
function formatSpent(usd: number): string {
  return formatDollars(Math.ceil(usd * SHOWN_PER_USD - 1e-6) / SHOWN_PER_USD);
}
