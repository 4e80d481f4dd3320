import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { findStage } from '@thrice/aws';
import { describe, expect, it } from 'vitest';
import { jsonAnswer, jsonError, type SentRequest, standBetween } from '../../support/sdk-faults.ts';

const stage = {
  stage: 'dev',
  tableName: 'thrice-dev-ledger',
  bucketName: 'bucket',
  laneQueueUrls: { openai: 'https://sqs/openai' },
  deadLetterQueueUrl: 'https://sqs/dead',
  planQueueUrl: 'https://sqs/plan',
  finalizeQueueUrl: 'https://sqs/finalize',
};

function aClient(answer: Parameters<typeof standBetween>[1]): {
  readonly client: DynamoDBClient;
  readonly sent: readonly SentRequest[];
} {
  const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' };
  const client = new DynamoDBClient({ region: 'eu-west-1', credentials, maxAttempts: 1 });
  return { client, sent: standBetween(client, answer) };
}

describe('a deployed stage', () => {
  it('is found by its name: its table says where the rest is', async () => {
    const payload = { S: JSON.stringify({ ...stage, region: 'eu-west-1' }) };
    const { client, sent } = aClient(async () => jsonAnswer(200, { Item: { payload } }));

    expect(await findStage(client, 'dev')).toEqual(stage);
    expect(sent.map(({ input }) => input)).toMatchObject([
      { TableName: 'thrice-dev-ledger', Key: { pk: { S: 'stack' }, sk: { S: 'directory' } } },
    ]);
  });

  it.each([
    ['has no table', jsonError(400, 'ResourceNotFoundException')],
    ['has a table that says nothing', jsonAnswer(200, {})],
  ])('is not there where it %s', async (_, answer) => {
    const { client } = aClient(async () => answer);

    await expect(findStage(client, 'dev')).rejects.toMatchObject({
      code: 'endpoint-unreachable',
      message:
        'stage "dev": expected a deployed stack with table thrice-dev-ledger, found none; deploy it with "npx sst deploy --stage dev"',
    });
  });

  it.each(['', 'a b', '../x', 'x'.repeat(65)])('is not called %j', async (name) => {
    const { client, sent } = aClient(async () => jsonAnswer(200, {}));

    await expect(findStage(client, name)).rejects.toMatchObject({ code: 'invalid-argument' });
    expect(sent).toEqual([]);
  });

  it('needs a region to be looked for in', async () => {
    const client = new DynamoDBClient({
      region: async (): Promise<string> => await Promise.reject(new Error('none')),
    });

    await expect(findStage(client, 'dev')).rejects.toMatchObject({
      code: 'endpoint-unreachable',
      message: 'AWS region: expected one in AWS_REGION or in the AWS profile, found none',
    });
  });
});
