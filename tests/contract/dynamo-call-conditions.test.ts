import { DynamoLaneStates, DynamoLedger } from '@thrice/aws';
import { afterAll, beforeAll } from 'vitest';
import { type DynamoEmulator, startDynamo } from '../support/aws-emulators.ts';
import { FakeBlobStore } from '../support/fake-blob-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { describeCallConditionsContract } from './call-conditions-contract.ts';

let dynamo: DynamoEmulator;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo[Symbol.asyncDispose]());

describeCallConditionsContract('DynamoDB, emulated', async () => {
  const { client, otherClient, tableName, ...table } = await dynamo.openTable();
  const init = { tableName, clock: new FakeClock(), random: () => 0, blobs: new FakeBlobStore() };
  return {
    conditions: new DynamoLedger({ ...init, client }),
    ledger: new DynamoLedger({ ...init, client: otherClient }),
    laneStates: new DynamoLaneStates({ ...init, client: otherClient }),
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
});
