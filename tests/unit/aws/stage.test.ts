import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { findStage } from '@thrice/aws';
import { describe, expect, it } from 'vitest';
import { aDeployedStage } from '../../support/deployed-stage.ts';
import {
  interceptRequests,
  jsonAnswer,
  jsonError,
  type SentRequest,
} from '../../support/sdk-faults.ts';

const stage = aDeployedStage();

function createClient(answer: Parameters<typeof interceptRequests>[1]): {
  readonly client: DynamoDBClient;
  readonly sent: readonly SentRequest[];
} {
  const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
  const client = new DynamoDBClient({ region: 'eu-west-1', credentials, maxAttempts: 1 });
  return { client, sent: interceptRequests(client, answer) };
}

describe('findStage', () => {
  it('reads the resources from the table named after the stage', async () => {
    const payload = { S: JSON.stringify({ ...stage, region: 'eu-west-1' }) };
    const { client, sent } = createClient(async () => jsonAnswer(200, { Item: { payload } }));

    expect(await findStage(client, 'dev')).toEqual(stage);
    expect(sent.map(({ input }) => input)).toMatchObject([
      { TableName: 'thrice-dev-ledger', Key: { pk: { S: 'stack' }, sk: { S: 'directory' } } },
    ]);
  });

  it.each([
    ['the table does not exist', jsonError(400, 'ResourceNotFoundException')],
    ['the table has no directory', jsonAnswer(200, {})],
  ])('fails when %s', async (_, answer) => {
    const { client } = createClient(async () => answer);

    await expect(findStage(client, 'dev')).rejects.toMatchObject({
      code: 'endpoint-unreachable',
      message:
        'stage "dev": expected a deployed stack with table thrice-dev-ledger, found none; deploy it with "npx sst deploy --stage dev"',
    });
  });

  it.each(['', 'a b', '../x', 'x'.repeat(65)])('refuses the name %j', async (name) => {
    const { client, sent } = createClient(async () => jsonAnswer(200, {}));

    await expect(findStage(client, name)).rejects.toMatchObject({ code: 'invalid-argument' });
    expect(sent).toEqual([]);
  });

  it('fails without a region', async () => {
    const client = new DynamoDBClient({
      region: async (): Promise<string> => await Promise.reject(new Error('none')),
    });

    await expect(findStage(client, 'dev')).rejects.toMatchObject({
      code: 'endpoint-unreachable',
      message: 'AWS region: expected one in AWS_REGION or in the AWS profile, found none',
    });
  });
});
