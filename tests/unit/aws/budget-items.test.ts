import { Buffer } from 'node:buffer';
import { expect, it } from 'vitest';
import {
  MAX_KEPT,
  MAX_OPEN,
  packReservation,
  reservationId,
  reservationName,
} from '../../../packages/aws/src/dynamo/budget-items.ts';
import { questionSchema } from '../../../packages/core/src/domain/question.ts';

/** DynamoDB's limit: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html (2026-11) */
const ITEM_BYTES = 400 * 1024;
/** More than the figures of all lanes take. */
const ACCOUNTS_BYTES = 16 * 1024;

it('an item has room for the most calls in flight, whatever their cells are named', () => {
  // JSON escapes each character of this id.
  const id = questionSchema.shape.id.parse('"'.repeat(80));
  const run = `${'g'.repeat(64)}-20261122T204500Z-0000-r1000`;
  const owner = '0b2c7a3e-5d1f-4e8a-9c6b-7f0d2e4a6c81';
  const call = { step: 'member-16-sample-100', callId: `${owner} 1763836245123 500` };
  const cell = { run, config: 'c'.repeat(64), id };
  const text = packReservation({
    ...{ ...cell, ...call, owner, lane: 'l'.repeat(32) },
    ...{ amountNanoUsd: 1e15, untilMs: 1_763_836_425_123 },
  });
  const name = reservationName(reservationId({ cell, ...call }), true);

  const bytes = Buffer.byteLength(name) + Buffer.byteLength(text);

  // Kept ones move half at a time, while others are added.
  expect(bytes * (MAX_OPEN + 2 * MAX_KEPT)).toBeLessThanOrEqual(ITEM_BYTES - ACCOUNTS_BYTES);
});
