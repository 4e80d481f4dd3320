import type { Benchmark } from '../domain/benchmark.ts';
import { type BudgetCaps, capToNanoUsd } from '../domain/budget.ts';
import type { Call } from '../domain/call.ts';
import type { GroupHeader } from '../domain/group.ts';
import { ThriceError } from '../errors.ts';
import type { Budgets } from '../ports/budgets.ts';
import { priceCall } from '../pricing/price-usage.ts';
import { countOf } from '../wording.ts';

/** The caps that a benchmark sets; empty without a budget. */
export function capsOf({ budgetUsd, lanes }: Pick<Benchmark, 'budgetUsd' | 'lanes'>): BudgetCaps {
  const caps = [
    [null, budgetUsd] as const,
    ...[...lanes.values()].map((lane) => [lane.name, lane.budgetUsd] as const),
  ];
  return new Map(
    caps.flatMap(([lane, usd]) => (usd === undefined ? [] : [[lane, capToNanoUsd(usd)]])),
  );
}

/**
 * Gives a group the caps of its plan, before its first call: what it has spent so far counts, at the prices of the plan.
 *
 * @returns Whether it has any.
 * @throws {ThriceError} `invalid-spec` where what it has spent is not known.
 */
export async function openBudget(
  { group, runs, edits, specSource }: GroupHeader,
  benchmark: Pick<Benchmark, 'budgetUsd' | 'lanes' | 'prices'>,
  budgets: Budgets,
): Promise<boolean> {
  const caps = capsOf(benchmark);
  if (caps.size === 0) {
    if ((await budgets.readAccounts(group)).length > 0) await budgets.setCaps(group, caps);
    return false;
  }
  const costOf = (call: Call) => priceCall(benchmark.prices, call);
  const unknownCount = await budgets.open(group, { runs, editCount: edits.length, costOf });
  if (unknownCount > 0) throw unknownSpend(group, specSource.path, unknownCount);
  await budgets.setCaps(group, caps);
  return true;
}

function unknownSpend(group: string, path: string, count: number): ThriceError {
  return new ThriceError({
    code: 'invalid-spec',
    message: `${path}: budget_usd: expected a group whose calls have a known cost, received ${group} with ${countOf(count, 'call')} without one; start a new group with "thrice run", or leave the budget out`,
  });
}
