import { DynamoLedger } from '@thrice/aws';
import { FakeBlobStore } from '../support/fake-blob-store.ts';
import { useDynamo } from '../support/use-dynamo.ts';
import { describeLedgerContract } from './ledger-contract.ts';

const dynamo = useDynamo();

describeLedgerContract(
  'DynamoDB, emulated',
  async (clock) => {
    const table = await dynamo.openTable();
    const { tableName } = table;
    const init = { tableName, blobs: new FakeBlobStore(), clock, random: () => 0 };
    return {
      ledger: new DynamoLedger({ ...init, client: table.client }),
      other: new DynamoLedger({ ...init, client: table.otherClient }),
      [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
    };
  },
  10,
);
