import { DynamoCallPool, DynamoLedger } from '@thrice/aws';
import { afterAll, beforeAll } from 'vitest';
import { type DynamoEmulator, startDynamo } from '../support/aws-emulators.ts';
import { FakeBlobStore } from '../support/fake-blob-store.ts';
import { FakeLedger } from '../support/fake-ledger.ts';
import { openLocalStores } from '../support/local-stores.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { describeCallPoolContract } from './call-pool-contract.ts';

let dynamo: DynamoEmulator;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(async () => {
  await dynamo[Symbol.asyncDispose]();
});

describeCallPoolContract('in memory', (clock) => {
  const ledger = new FakeLedger(clock);
  const { pool } = ledger;
  const dispose = () => Promise.resolve();
  return Promise.resolve({ pool, other: pool, ledger, [Symbol.asyncDispose]: dispose });
});

describeCallPoolContract('SQLite on file, two connections', async (clock) => {
  const folder = await temporaryFolder();
  const stores = openLocalStores(folder.resolve('thrice.db'), clock);
  const others = openLocalStores(folder.resolve('thrice.db'), clock);
  return {
    pool: stores.pool,
    other: others.pool,
    ledger: stores.ledger,
    [Symbol.asyncDispose]: async () => {
      stores[Symbol.dispose]();
      others[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
});

describeCallPoolContract('DynamoDB, emulated', async (clock) => {
  const table = await dynamo.openTable();
  const { client, otherClient, tableName } = table;
  const init = { tableName, blobs: new FakeBlobStore(), clock, random: () => 0 };
  return {
    pool: new DynamoCallPool({ ...init, client }),
    other: new DynamoCallPool({ ...init, client: otherClient }),
    ledger: new DynamoLedger({ ...init, client }),
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
});
