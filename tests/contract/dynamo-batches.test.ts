import { DynamoBatches } from '@thrice/aws';
import { FakeBlobStore } from '../support/fake-blob-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { useDynamo } from '../support/use-dynamo.ts';
import { describeBatchesContract } from './batches-contract.ts';

const dynamo = useDynamo();

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
