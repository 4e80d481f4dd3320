import { DynamoLedger } from '@thrice/aws';
import { afterAll, beforeAll } from 'vitest';
import { type DynamoEmulator, startDynamo } from '../support/aws-emulators.ts';
import { FakeBlobStore } from '../support/fake-blob-store.ts';
import { describeLedgerContract } from './ledger-contract.ts';

let dynamo: DynamoEmulator;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(async () => {
  await dynamo[Symbol.asyncDispose]();
});

describeLedgerContract(
  'DynamoDB, emulated',
  async (clock) => {
    const table = await dynamo.openTable();
    const { tableName } = table;
    const init = { tableName, blobs: new FakeBlobStore(), clock, random: () => 0 };
    return {
      ledger: new DynamoLedger({ ...init, client: table.client }),
      other: new DynamoLedger({ ...init, client: table.otherClient }),
      [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
    };
  },
  10,
);
