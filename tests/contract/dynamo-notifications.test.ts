import { DynamoNotifications } from '@thrice/aws';
import { afterAll, beforeAll } from 'vitest';
import { type DynamoEmulator, startDynamo } from '../support/aws-emulators.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { describeNotificationsContract } from './notifications-contract.ts';

let dynamo: DynamoEmulator;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(async () => {
  await dynamo[Symbol.asyncDispose]();
});

describeNotificationsContract('DynamoDB, emulated', async () => {
  const table = await dynamo.openTable();
  const init = { tableName: table.tableName, clock: new FakeClock(), random: () => 0 };
  return {
    notifications: new DynamoNotifications({ ...init, client: table.client }),
    other: new DynamoNotifications({ ...init, client: table.otherClient }),
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
});
