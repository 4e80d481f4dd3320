import { DynamoResendNotes } from '@thrice/aws';
import { FakeClock } from '../support/fake-clock.ts';
import { useDynamo } from '../support/use-dynamo.ts';
import { describeResendNotesContract } from './resend-notes-contract.ts';

const dynamo = useDynamo();

describeResendNotesContract('DynamoDB, emulated', async () => {
  const table = await dynamo.openTable();
  const init = { tableName: table.tableName, clock: new FakeClock(), random: () => 0 };
  return {
    notes: new DynamoResendNotes({ ...init, client: table.client }),
    other: new DynamoResendNotes({ ...init, client: table.otherClient }),
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
});
