import {
  type BudgetAccount,
  blockersOf,
  isBudgetReached,
  laneOf,
  modelsOf,
  toOpenBreakers,
} from '@thrice/core';
import type { GroupCounts } from './engine.ts';

/**
 * Whether an open breaker blocks the model of every config that has cells left.
 *
 * @param accounts - Accounts whose caps count as well. @default none
 */
export function areAllBlocked(
  { header, configs, openBreakers }: GroupCounts,
  accounts: readonly BudgetAccount[] = [],
): boolean {
  const reached = accounts.filter(isBudgetReached).map(({ lane }) => lane);
  const open = toOpenBreakers(openBreakers);
  const isBlocked = (config: string) => {
    const spec = header.spec.configs.find(({ name }) => name === config);
    if (spec === undefined) return false;
    const models = modelsOf(spec, header.keys);
    const isAtBudget =
      reached.includes(null) || models.some((ref) => reached.includes(laneOf(ref)));
    return isAtBudget || blockersOf(models, open).length > 0;
  };
  return configs
    .filter(({ notAttempted }) => notAttempted > 0)
    .every(({ config }) => isBlocked(config));
}
