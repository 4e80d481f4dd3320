import { DynamoWorkLeases } from '@thrice/aws';
import { useDynamo } from '../support/use-dynamo.ts';
import { describeWorkLeasesContract } from './work-leases-contract.ts';

const dynamo = useDynamo();

describeWorkLeasesContract('DynamoDB, emulated', async (clock) => {
  const table = await dynamo.openTable();
  const init = { tableName: table.tableName, clock, random: () => 0 };
  return {
    workLeases: new DynamoWorkLeases({ ...init, client: table.client }),
    other: new DynamoWorkLeases({ ...init, client: table.otherClient }),
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
});
