import {
  type BudgetAccount,
  haltingBreakers,
  isBudgetReached,
  laneOf,
  modelsOfConfig,
  toOpenBreakers,
} from '@thrice/core';
import type { GroupCounts } from './engine.ts';

/**
 * Whether open breakers halt every config that has cells left.
 *
 * @param accounts - Accounts whose caps count as well. @default none
 */
export function areAllBlocked(
  { header, configs, openBreakers }: GroupCounts,
  accounts: readonly BudgetAccount[] = [],
): boolean {
  const reached = accounts.filter(isBudgetReached).map(({ lane }) => lane);
  const open = toOpenBreakers(openBreakers);
  const isAtBudget = (config: string) =>
    reached.includes(null) ||
    modelsOfConfig(header, config).some((ref) => reached.includes(laneOf(ref)));
  return configs
    .filter(({ notAttempted }) => notAttempted > 0)
    .every(({ config }) => isAtBudget(config) || haltingBreakers(header, config, open).length > 0);
}
