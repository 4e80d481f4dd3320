import { DynamoBatches } from '@thrice/aws';
import { afterAll, beforeAll } from 'vitest';
import { type DynamoEmulator, startDynamo } from '../support/aws-emulators.ts';
import { FakeBlobStore } from '../support/fake-blob-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { describeBatchesContract } from './batches-contract.ts';

let dynamo: DynamoEmulator;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(async () => {
  await dynamo[Symbol.asyncDispose]();
});

describeBatchesContract('DynamoDB, emulated', async () => {
  const table = await dynamo.openTable();
  const { client, otherClient, tableName } = table;
  const clock = new FakeClock();
  const init = { tableName, blobs: new FakeBlobStore(), clock, random: () => 0 };
  return {
    batches: new DynamoBatches({ ...init, client }),
    other: new DynamoBatches({ ...init, client: otherClient }),
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
});
