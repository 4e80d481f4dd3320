import { DynamoActiveGroups } from '@thrice/aws';
import { FakeClock } from '../support/fake-clock.ts';
import { useDynamo } from '../support/use-dynamo.ts';
import { describeActiveGroupsContract } from './active-groups-contract.ts';

const dynamo = useDynamo();

describeActiveGroupsContract('DynamoDB, emulated', async () => {
  const table = await dynamo.openTable();
  const init = { tableName: table.tableName, clock: new FakeClock(), random: () => 0 };
  return {
    activeGroups: new DynamoActiveGroups({ ...init, client: table.client }),
    other: new DynamoActiveGroups({ ...init, client: table.otherClient }),
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
});
