import type { BudgetRefusal } from '../cells/call-budget.ts';
import { type BudgetAccount, capToNanoUsd, isBudgetReached, toUsd } from '../domain/budget.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { BudgetSummary } from '../results/budget-summary.ts';
import type { GroupEvent } from './describe-event.ts';

/** The event of a cap that is nearly, or quite, used up. */
export function budgetEvent(
  account: BudgetAccount,
  level: 'warning' | 'cap',
  { resume, header }: { readonly resume: string; readonly header: GroupHeader },
): Extract<GroupEvent, { readonly kind: 'budget' }> {
  return {
    kind: 'budget',
    level,
    lane: account.lane ?? '',
    spentUsd: toUsd(account.spentNanoUsd),
    capUsd: toUsd(account.capNanoUsd ?? 0),
    editCount: countEditsTo(account, header),
    command: raiseCommand(reachedCapOf({ account }), { resume, header }),
  };
}

/** Counts the edits of the plan that have set a cap to what it is: one that was raised and lowered again is another cap. */
function countEditsTo(
  { lane, capNanoUsd }: Pick<BudgetAccount, 'lane' | 'capNanoUsd'>,
  { edits }: Pick<GroupHeader, 'edits'>,
): number {
  const name = lane === null ? 'budget_usd' : `lanes.${lane}.budget_usd`;
  return edits
    .flatMap(({ changes }) => changes)
    .filter(({ key, is }) => key === name && is !== null && capToNanoUsd(Number(is)) === capNanoUsd)
    .length;
}

/** The events that the accounts of a group show. Each has a key of its own, so that it is told once. */
export function eventsOfBudget(
  accounts: readonly BudgetAccount[],
  command: { readonly resume: string; readonly header: GroupHeader },
): readonly GroupEvent[] {
  return accounts.flatMap((account) => [
    ...(account.isWarned ? [budgetEvent(account, 'warning', command)] : []),
    ...(isBudgetReached(account) ? [budgetEvent(account, 'cap', command)] : []),
  ]);
}

/** The cap of a group that is reached; null where it is that of a lane, which only the spec names. */
type ReachedCap = Pick<BudgetSummary, 'capUsd' | 'spentUsd' | 'nextUsd'> | null;

/** Returns what a refused call says of the cap of its group. */
export function reachedCapOf({
  account,
  amountNanoUsd = account.refusedNanoUsd ?? undefined,
}: Partial<BudgetRefusal> & Pick<BudgetRefusal, 'account'>): ReachedCap {
  const { lane, capNanoUsd, spentNanoUsd } = account;
  if (lane !== null || capNanoUsd === null) return null;
  return {
    capUsd: toUsd(capNanoUsd),
    spentUsd: toUsd(spentNanoUsd),
    nextUsd: amountNanoUsd === undefined ? null : toUsd(amountNanoUsd),
  };
}

/**
 * Returns the command that raises a cap to twice as much, or what the next call needs, and resumes its group.
 *
 * @param resume - The command that resumes it.
 */
export function raiseCommand(
  cap: ReachedCap,
  { resume, header }: { readonly resume: string; readonly header: GroupHeader },
): string {
  if (cap === null || cap.capUsd === null) return `${resume} --spec ${header.specSource.path}`;
  const { capUsd, spentUsd, nextUsd } = cap;
  const enoughUsd = spentUsd + (nextUsd ?? 0);
  return `${resume} --budget-usd ${roundUp(Math.max(2 * capUsd, 2 * spentUsd, enoughUsd))}`;
}

/** Two digits are enough for a cap that is only proposed. */
function roundUp(usd: number): number {
  const unit = 10 ** (Math.floor(Math.log10(usd)) - 1);
  return Number((Math.ceil(usd / unit - 1e-9) * unit).toPrecision(2));
}
