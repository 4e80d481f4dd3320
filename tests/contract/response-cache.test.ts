import { DynamoLedger, DynamoResponseCache } from '@thrice/aws';
import { FakeBlobStore } from '../support/fake-blob-store.ts';
import { FakeLedger } from '../support/fake-ledger.ts';
import { openLocalStores } from '../support/local-stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { useDynamo } from '../support/use-dynamo.ts';
import { describeResponseCacheContract } from './response-cache-contract.ts';

const dynamo = useDynamo();

describeResponseCacheContract('in memory', (clock) => {
  const ledger = new FakeLedger(clock);
  const { responseCache } = ledger;
  const dispose = () => Promise.resolve();
  return Promise.resolve({
    responseCache,
    other: responseCache,
    ledger,
    [Symbol.asyncDispose]: dispose,
  });
});

describeResponseCacheContract('SQLite on file, two connections', async (clock) => {
  const folder = await temporaryFolder();
  const stores = openLocalStores(folder.resolve('thrice.db'), clock);
  const others = openLocalStores(folder.resolve('thrice.db'), clock);
  return {
    responseCache: stores.responseCache,
    other: others.responseCache,
    ledger: stores.ledger,
    [Symbol.asyncDispose]: async () => {
      stores[Symbol.dispose]();
      others[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
});

describeResponseCacheContract('DynamoDB, emulated', async (clock) => {
  const table = await dynamo.openTable();
  const { client, otherClient, tableName } = table;
  const init = { tableName, blobs: new FakeBlobStore(), clock, random: () => 0 };
  return {
    responseCache: new DynamoResponseCache({ ...init, client }),
    other: new DynamoResponseCache({ ...init, client: otherClient }),
    ledger: new DynamoLedger({ ...init, client }),
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
});
