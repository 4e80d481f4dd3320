import { DynamoWorkLeases } from '@thrice/aws';
import { afterAll, beforeAll } from 'vitest';
import { type DynamoEmulator, startDynamo } from '../support/aws-emulators.ts';
import { describeWorkLeasesContract } from './work-leases-contract.ts';

let dynamo: DynamoEmulator;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(async () => {
  await dynamo[Symbol.asyncDispose]();
});

describeWorkLeasesContract('DynamoDB, emulated', async (clock) => {
  const table = await dynamo.openTable();
  const init = { tableName: table.tableName, clock, random: () => 0 };
  return {
    workLeases: new DynamoWorkLeases({ ...init, client: table.client }),
    other: new DynamoWorkLeases({ ...init, client: table.otherClient }),
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
});
