import {
  type BudgetAccount,
  haltingBreakers,
  isAtBudget,
  laneOf,
  modelsOfConfig,
  toOpenBreakers,
} from '@thrice/core';
import { cellsLeft } from './count-left.ts';
import type { GroupCounts } from './engine.ts';

/**
 * Whether open breakers halt every config that has cells left, to answer or to grade.
 *
 * @param accounts - Accounts whose caps count as well. @default none
 */
export function areAllBlocked(
  { header, configs, openBreakers }: GroupCounts,
  accounts: readonly BudgetAccount[] = [],
): boolean {
  const open = toOpenBreakers(openBreakers);
  const hasNoBudget = (config: string) =>
    isAtBudget(accounts, modelsOfConfig(header, config).map(laneOf));
  return cellsLeft({ header, configs }).every(
    ({ config }) => hasNoBudget(config) || haltingBreakers(header, config, open).length > 0,
  );
}
