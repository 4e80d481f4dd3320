import type { ReturnRange } from '@thrice/core';
import type { DynamoTable, ItemKey } from './dynamo-table.ts';

/** Reserves the time at which a cell that is sent back returns, in the item of its lane. */
export async function reserveReturn(
  table: DynamoTable,
  key: ItemKey,
  { earliestMs, latestMs, intervalMs }: ReturnRange,
): Promise<number> {
  const next = { add: { returnAtMs: intervalMs, returnRound: 0 } };
  const start = { set: { returnAtMs: earliestMs }, add: { returnRound: 1 } };
  for (;;) {
    const item = await table.updateAndRead(key, next);
    const returnAtMs = Number(item['returnAtMs']);
    if (returnAtMs >= earliestMs && returnAtMs <= latestMs) return returnAtMs;
    // Not the time itself: DynamoDB adds exactly, to more digits than can be read, and other workers add meanwhile.
    const unchanged = { returnRound: Number(item['returnRound']) };
    if (await table.update(key, start, unchanged)) return earliestMs;
  }
}
