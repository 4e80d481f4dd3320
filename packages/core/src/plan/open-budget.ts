import type { Benchmark } from '../domain/benchmark.ts';
import { capsOf } from '../domain/budget.ts';
import type { Call } from '../domain/call.ts';
import { gradeConfigsOf } from '../domain/config-models.ts';
import type { GroupHeader } from '../domain/group.ts';
import { ThriceError } from '../errors.ts';
import type { Budgets } from '../ports/budgets.ts';
import { priceCall } from '../pricing/price-usage.ts';
import { countOf } from '../wording.ts';

/** The budget of a group, or that of a lane. */
const BUDGET_KEY = /(^|\.)budget_usd$/;

/**
 * Gives a group the caps of its plan, before its first call: what it has spent so far counts, at the prices of the plan.
 *
 * @returns Whether it has any.
 * @throws {ThriceError} `invalid-spec` where what it has spent is not known.
 */
export async function openBudget(
  header: GroupHeader,
  benchmark: Pick<Benchmark, 'budgetUsd' | 'lanes' | 'prices'>,
  budgets: Budgets,
): Promise<boolean> {
  const { group, runs, edits, specSource } = header;
  const caps = capsOf(benchmark);
  if (caps.size === 0) {
    if ((await budgets.readAccounts(group)).length > 0)
      await budgets.setCaps(group, caps, edits.length);
    return false;
  }
  const costOf = (call: Call) => priceCall(benchmark.prices, call);
  const configs = [...header.configs.map(({ config }) => config), ...gradeConfigsOf(header)];
  const editCount = countPriceEdits(header);
  const unknownCount = await budgets.open(group, { runs, configs, editCount, costOf });
  if (unknownCount > 0) throw unknownSpend(group, specSource.path, unknownCount);
  await budgets.setCaps(group, caps, edits.length);
  return true;
}

/** Counts the edits that may have changed prices: all but those of budgets alone, by the version that planned the rest. */
function countPriceEdits({ edits, toolVersion: planned }: GroupHeader): number {
  return edits.filter(({ changes, toolVersion }, index) => {
    const before = edits[index - 1]?.toolVersion ?? planned;
    const isOfBudgets = changes.length > 0 && changes.every(({ key }) => BUDGET_KEY.test(key));
    return toolVersion !== before || !isOfBudgets;
  }).length;
}

function unknownSpend(group: string, path: string, count: number): ThriceError {
  return new ThriceError({
    code: 'invalid-spec',
    message: `${path}: budget_usd: expected a group whose calls have a known cost, received ${group} with ${countOf(count, 'call')} without one; start a new group, or leave the budget out`,
  });
}
