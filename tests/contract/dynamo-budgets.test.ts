import { DynamoBudgets, DynamoLedger } from '@thrice/aws';
import { afterAll, beforeAll } from 'vitest';
import { type DynamoEmulator, startDynamo } from '../support/aws-emulators.ts';
import { FakeBlobStore } from '../support/fake-blob-store.ts';
import { describeBudgetsContract } from './budgets-contract.ts';

let dynamo: DynamoEmulator;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(async () => {
  await dynamo[Symbol.asyncDispose]();
});

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
