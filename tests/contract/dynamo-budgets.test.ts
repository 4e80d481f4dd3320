import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { DynamoBudgets, DynamoLedger } from '@thrice/aws';
import { expect, it } from 'vitest';
import { budgetKey } from '../../packages/aws/src/dynamo/budget-items.ts';
import { aCellKey } from '../support/builders.ts';
import { FakeBlobStore } from '../support/fake-blob-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { useDynamo } from '../support/use-dynamo.ts';
import { describeBudgetsContract } from './budgets-contract.ts';

const dynamo = useDynamo();

describeBudgetsContract('DynamoDB, emulated', async (clock) => {
  const { client, otherClient, tableName, ...table } = await dynamo.openTable();
  const init = { tableName, blobs: new FakeBlobStore(), clock, random: () => 0 };
  return {
    budgets: new DynamoBudgets({ ...init, client }),
    other: new DynamoBudgets({ ...init, client: otherClient }),
    ledger: new DynamoLedger({ ...init, client }),
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
});

it('a reservation that was kept, and whose cost is known after all, counts no open call down', async () => {
  await using table = await dynamo.openTable();
  const clock = new FakeClock();
  const { client, tableName } = table;
  const init = { client, tableName, blobs: new FakeBlobStore(), clock, random: () => 0 };
  const budgets = new DynamoBudgets(init);
  const journal = { runs: [], configs: [], editCount: 0, costOf: () => 0 };
  await budgets.open('demo', journal);
  const reserve = async (callId: string) => {
    const call = { ...aCellKey(), step: 'answer', callId };
    const facts = { lane: 'lab', owner: 'worker-1', amountNanoUsd: 40, untilMs: 1 };
    await budgets.reserve('demo', { ...call, ...facts });
    return { cell: aCellKey(), step: 'answer', callId };
  };
  const countOpen = async () => {
    const { pk, sk } = budgetKey('demo');
    const Key = { pk: { S: pk }, sk: { S: sk } };
    const { Item } = await client.send(new GetItemCommand({ TableName: tableName, Key }));
    return Number(Item?.['openCount']?.N);
  };

  const kept = await reserve('call-1');
  await reserve('call-2');
  await budgets.settle('demo', kept, null);
  const afterKeeping = await countOpen();
  await budgets.settle('demo', kept, 7);

  expect([afterKeeping, await countOpen()]).toEqual([1, 1]);
});
