import { awsLimits } from './aws-limits.ts';
import { budgetedCall, sumOf } from './cell-protocol.ts';
import { charge, prices } from './prices.ts';

/** What a budget adds to an answer of its group, and how fast it lets answers be. */
export interface BudgetCost {
  readonly writeUnits: number;
  readonly usd: number;
  /** One item takes no more write units than a partition. */
  readonly answersPerSecond: number;
}

/** Computes what a budget costs while so many calls of its group are in flight. */
export function expectBudget(inFlightCount: number): BudgetCost {
  const writeUnits = sumOf(budgetedCall(inFlightCount), (request) => request.writeUnits ?? 0);
  return {
    writeUnits,
    usd: charge(prices.dynamoWrites, writeUnits).usd,
    answersPerSecond: awsLimits.partitionWriteUnits.value / writeUnits,
  };
}
