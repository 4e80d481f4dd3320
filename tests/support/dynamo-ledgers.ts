import {
  type AttributeValue,
  type DynamoDBClient,
  PutItemCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { DynamoBudgets, DynamoLedger, DynamoResponseCache } from '@thrice/aws';
import type { DynamoEmulator } from './aws-emulators.ts';
import { FakeBlobStore } from './fake-blob-store.ts';
import { PassingClock } from './passing-clock.ts';
import { type AnswerRequest, interceptRequests, type SentRequest } from './sdk-faults.ts';

/** A ledger with its own table, and the means to inspect it. */
export interface LedgerOnTable extends AsyncDisposable {
  readonly ledger: DynamoLedger;
  readonly responseCache: DynamoResponseCache;
  readonly budgets: DynamoBudgets;
  /** The same table, accessed without faults. */
  readonly other: DynamoLedger;
  readonly clock: PassingClock;
  readonly blobs: FakeBlobStore;
  /** What an adapter on the same table needs. */
  readonly init: ConstructorParameters<typeof DynamoBudgets>[0];
  /** The requests that `ledger` sent, in order. */
  readonly sent: readonly SentRequest[];
  /** The keys of all items, as `<partition key> / <sort key>`. */
  keys(): Promise<readonly string[]>;
  /** Reads an item as it is stored. */
  item(pk: string, sk: string): Promise<Readonly<Record<string, AttributeValue>>>;
  /** Replaces an item. */
  putItem(item: Readonly<Record<string, AttributeValue>>): Promise<void>;
}

/**
 * Opens a ledger on a fresh table.
 *
 * @param answer - Answers the ledger's requests in place of the table. @default passes everything on
 */
export async function openLedger(
  dynamo: Pick<DynamoEmulator, 'openTable'>,
  answer?: AnswerRequest,
): Promise<LedgerOnTable> {
  const { client, otherClient, tableName, ...table } = await dynamo.openTable();
  const clock = new PassingClock();
  const blobs = new FakeBlobStore();
  const init = { tableName, blobs, clock, random: () => 0 };
  const open = (of: DynamoDBClient) => new DynamoLedger({ ...init, client: of });
  const scan = async () => {
    const { Items = [] } = await otherClient.send(new ScanCommand({ TableName: tableName }));
    return Items;
  };
  return {
    ledger: open(client),
    responseCache: new DynamoResponseCache({ ...init, client }),
    budgets: new DynamoBudgets({ ...init, client }),
    other: open(otherClient),
    clock,
    blobs,
    init: { ...init, client },
    sent: interceptRequests(client, answer),
    keys: async () => (await scan()).map(({ pk, sk }) => `${pk?.S} / ${sk?.S}`).toSorted(),
    item: async (pk, sk) => {
      const found = (await scan()).find((item) => item['pk']?.S === pk && item['sk']?.S === sk);
      if (found === undefined) throw new Error(`expected an item ${pk} / ${sk}, found none`);
      return found;
    },
    putItem: async (item) => {
      await otherClient.send(new PutItemCommand({ TableName: tableName, Item: item }));
    },
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
}
