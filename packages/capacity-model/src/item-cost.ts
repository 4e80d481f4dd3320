import { awsLimits } from './aws-limits.ts';
import { budgetedCall, limitedCall, type ProtocolRequest, sumOf } from './cell-protocol.ts';
import { charge, prices } from './prices.ts';

/** What the writes to one item add to an answer, and how fast they let answers be. */
export interface ItemCost {
  readonly writeUnits: number;
  readonly usd: number;
  /** One item takes no more write units than a partition. */
  readonly answersPerSecond: number;
}

/** Computes what a budget costs while so many calls of its group are in flight. */
export function expectBudget(inFlightCount: number): ItemCost {
  return expectWrites(budgetedCall(inFlightCount));
}

/** Computes what `max_concurrency` of a lane costs where so many calls are in flight and each waits for its slot. */
export function expectSlots(inFlightCount: number): ItemCost {
  return expectWrites(limitedCall(inFlightCount, true));
}

function expectWrites(requests: readonly ProtocolRequest[]): ItemCost {
  const writeUnits = sumOf(requests, (request) => request.writeUnits ?? 0);
  return {
    writeUnits,
    usd: charge(prices.dynamoWrites, writeUnits).usd,
    answersPerSecond: awsLimits.partitionWriteUnits.value / writeUnits,
  };
}
