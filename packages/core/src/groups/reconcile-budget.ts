import { recoverReservations } from '../cells/recover-reservations.ts';
import type { BenchmarkSpec } from '../domain/benchmark-spec.ts';
import { type BudgetAccount, toNanoUsd } from '../domain/budget.ts';
import type { GroupHeader } from '../domain/group.ts';
import { toThriceError } from '../errors.ts';
import type { Batches } from '../ports/batches.ts';
import type { Budgets } from '../ports/budgets.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ledger } from '../ports/ledger.ts';

/**
 * Settles the calls that have outlived their time limit: their workers are gone, or could not do it.
 *
 * What the store does not take for now is left for the next round: writes of a budget are throttled while there are too
 * many, and its calls count at their worst case until then.
 *
 * @param isOutOfTime - Checked before each call.
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
  isOutOfTime: () => boolean,
): Promise<readonly BudgetAccount[]> {
  if (!hasBudget(spec)) return [];
  const nowMs = clock.now();
  let isStoreBusy = false;
  await recoverReservations(group, {
    budgets,
    batches,
    ledger,
    isOver: ({ untilMs }) => untilMs <= nowMs,
    isOutOfTime: () => isStoreBusy || isOutOfTime(),
    settle: async (call, costUsd) => {
      const costNanoUsd = costUsd === null ? null : toNanoUsd(costUsd);
      // What this warns of is told from the accounts.
      await budgets.settle(group, call, costNanoUsd).catch((thrown: unknown) => {
        if (toThriceError(thrown).code !== 'store-unavailable') throw thrown;
        isStoreBusy = true;
      });
    },
  });
  return await budgets.readAccounts(group);
}

function hasBudget({ budget_usd, lanes }: BenchmarkSpec): boolean {
  return (
    budget_usd !== undefined ||
    Object.values(lanes ?? {}).some((lane) => lane.budget_usd !== undefined)
  );
}
