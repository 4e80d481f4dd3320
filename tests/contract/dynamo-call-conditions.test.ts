import { DynamoLaneStates, DynamoLedger } from '@thrice/aws';
import { FakeBlobStore } from '../support/fake-blob-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { useDynamo } from '../support/use-dynamo.ts';
import { describeCallConditionsContract } from './call-conditions-contract.ts';

const dynamo = useDynamo();

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
