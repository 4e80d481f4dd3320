import { type BudgetAccount, capToNanoUsd, isBudgetReached, toUsd } from '../domain/budget.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { GroupEvent } from './describe-event.ts';

/** The event of a cap that is nearly, or quite, used up. */
export function budgetEvent(
  account: BudgetAccount,
  level: 'warning' | 'cap',
  header: GroupHeader,
): Extract<GroupEvent, { readonly kind: 'budget' }> {
  return {
    kind: 'budget',
    level,
    lane: account.lane ?? '',
    spentUsd: toUsd(account.spentNanoUsd),
    capUsd: toUsd(account.capNanoUsd ?? 0),
    nextUsd: account.refusedNanoUsd === null ? null : toUsd(account.refusedNanoUsd),
    editCount: countEditsTo(account, header),
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
  header: GroupHeader,
): readonly GroupEvent[] {
  return accounts.flatMap((account) => [
    ...(account.isWarned ? [budgetEvent(account, 'warning', header)] : []),
    ...(isBudgetReached(account) ? [budgetEvent(account, 'cap', header)] : []),
  ]);
}
