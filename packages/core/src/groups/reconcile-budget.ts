import { recoverReservations } from '../cells/recover-reservations.ts';
import type { BenchmarkSpec } from '../domain/benchmark-spec.ts';
import { type BudgetAccount, toNanoUsd } from '../domain/budget.ts';
import type { GroupHeader } from '../domain/group.ts';
import type { Batches } from '../ports/batches.ts';
import type { Budgets } from '../ports/budgets.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ledger } from '../ports/ledger.ts';

/**
 * Settles the calls that have outlived their time limit: their workers are gone.
 *
 * @returns The accounts of the group after that; none for a group without a budget, for which nothing is read.
 */
export async function reconcileBudget(
  { group, spec }: Pick<GroupHeader, 'group' | 'spec'>,
  {
    budgets,
    ledger,
    clock,
    batching: { batches },
  }: {
    readonly budgets: Budgets;
    readonly ledger: Ledger;
    readonly clock: Clock;
    readonly batching: { readonly batches: Batches };
  },
): Promise<readonly BudgetAccount[]> {
  if (!hasBudget(spec)) return [];
  const nowMs = clock.now();
  await recoverReservations(group, {
    budgets,
    batches,
    ledger,
    isOver: ({ untilMs }) => untilMs <= nowMs,
    // What this warns of is told from the accounts.
    settle: async (call, costUsd) =>
      void (await budgets.settle(group, call, costUsd === null ? null : toNanoUsd(costUsd))),
  });
  return await budgets.readAccounts(group);
}

function hasBudget({ budget_usd, lanes }: BenchmarkSpec): boolean {
  return (
    budget_usd !== undefined ||
    Object.values(lanes ?? {}).some((lane) => lane.budget_usd !== undefined)
  );
}
