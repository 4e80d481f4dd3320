import { DynamoNotifications } from '@thrice/aws';
import { FakeClock } from '../support/fake-clock.ts';
import { useDynamo } from '../support/use-dynamo.ts';
import { describeNotificationsContract } from './notifications-contract.ts';

const dynamo = useDynamo();

describeNotificationsContract('DynamoDB, emulated', async () => {
  const table = await dynamo.openTable();
  const init = { tableName: table.tableName, clock: new FakeClock(), random: () => 0 };
  return {
    notifications: new DynamoNotifications({ ...init, client: table.client }),
    other: new DynamoNotifications({ ...init, client: table.otherClient }),
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
});
