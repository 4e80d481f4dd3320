import {
  CreateTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { Stack, Table, TableItem } from './stack.ts';
import type { Emulators } from './start-emulators.ts';

/** Looks at a new table before giving up; the emulator makes one at once. */
const LOOK_COUNT = 100;

/** Creates what is made with requests: the stack's tables and the items it puts into them. */
export async function createResources(stack: Stack, emulators: Emulators): Promise<void> {
  const client = new DynamoDBClient({
    region: emulators.region,
    endpoint: emulators.direct.dynamoUrl,
    credentials: emulators.credentials,
  });
  try {
    for (const table of stack.tables) await createTable(client, table);
    for (const { tableName, item } of stack.tableItems) {
      const Item = resolveUrls(item, emulators) as AttributeMap;
      await client.send(new PutItemCommand({ TableName: tableName, Item }));
    }
  } finally {
    client.destroy();
  }
}

type AttributeMap = NonNullable<PutItemCommand['input']['Item']> & TableItem['item'];

async function createTable(client: DynamoDBClient, table: Table): Promise<void> {
  await client.send(
    new CreateTableCommand({
      TableName: table.name,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: table.attributes.map(({ name, type }) => ({
        AttributeName: name,
        AttributeType: type,
      })),
      KeySchema: [
        { AttributeName: table.hashKey, KeyType: 'HASH' },
        ...(table.rangeKey === undefined
          ? []
          : [{ AttributeName: table.rangeKey, KeyType: 'RANGE' as const }]),
      ],
    }),
  );
  for (let look = 0; look < LOOK_COUNT; look += 1) {
    const { Table } = await client.send(new DescribeTableCommand({ TableName: table.name }));
    if (Table?.TableStatus === 'ACTIVE') return;
  }
  throw new Error(`table ${table.name} is not active`);
}

/** Puts the emulator's address wherever the synthesized stack has a queue's URL, at any depth. */
export function resolveUrls(value: unknown, { region, sqsUrl }: Emulators): unknown {
  const text = JSON.stringify(value);
  return JSON.parse(text.replaceAll(`https://sqs.${region}.amazonaws.com/`, `${sqsUrl}/`));
}
