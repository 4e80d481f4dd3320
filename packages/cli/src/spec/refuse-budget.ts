import { type Benchmark, capsOf, ThriceError } from '@thrice/core';

/**
 * Refuses a group with a budget for a stage, which would spend without a cap.
 *
 * @throws {ThriceError} `unsupported`.
 */
export function refuseBudgetInStage(benchmark: Pick<Benchmark, 'budgetUsd' | 'lanes'>): void {
  if (capsOf(benchmark).size === 0) return;
  throw new ThriceError({
    code: 'unsupported',
    message:
      'budget_usd: expected a group without a budget for a stage, received one with a budget, which this version only keeps on one machine; run it without --stage, or leave the budget out',
  });
}
