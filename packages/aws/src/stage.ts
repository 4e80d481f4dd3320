import { type DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { ThriceError } from '@thrice/core';
import * as z from 'zod';
import { mapSdkError } from './map-sdk-error.ts';

const urlSchema = z.url();

/** Where everything of a deployed stage is; the stack writes it, functions and CLI read it. */
export const stageSchema = z.object({
  stage: z.string().min(1),
  tableName: z.string().min(1),
  bucketName: z.string().min(1),
  laneQueueUrls: z.record(z.string(), urlSchema),
  deadLetterQueueUrl: urlSchema,
  planQueueUrl: urlSchema,
  finalizeQueueUrl: urlSchema,
});
/** Where everything of a deployed stage is. */
export type Stage = z.infer<typeof stageSchema>;

/**
 * Finds a deployed stage by its name: its table has a fixed name and holds the rest.
 *
 * @throws {ThriceError} `invalid-argument` for what is no stage's name; `endpoint-unreachable` where there
 *   is no such stage, or no region to look in; what `mapSdkError` says for credentials and network.
 */
export async function findStage(client: DynamoDBClient, name: string): Promise<Stage> {
  checkName(name);
  await checkRegion(client);
  const TableName = `thrice-${name}-ledger`;
  const Key = { pk: { S: 'stack' }, sk: { S: 'directory' } };
  const found = await client
    .send(new GetItemCommand({ TableName, Key }))
    .catch((error: unknown) => {
      if (error instanceof Error && error.name === 'ResourceNotFoundException') return undefined;
      throw mapSdkError(error, `table ${TableName}`);
    });
  const payload = found?.Item?.['payload']?.S;
  const parsed = stageSchema.safeParse(payload === undefined ? undefined : JSON.parse(payload));
  if (parsed.success) return parsed.data;
  throw new ThriceError({
    code: 'endpoint-unreachable',
    message: `stage "${name}": expected a deployed stack with table ${TableName}, found none; deploy it with "npx sst deploy --stage ${name}"`,
  });
}

/** As SST takes it, which also is what a table's name may hold. */
function checkName(name: string): void {
  if (/^[A-Za-z0-9-]{1,64}$/.test(name)) return;
  throw new ThriceError({
    code: 'invalid-argument',
    message: `--stage: expected letters, digits and "-", at most 64, received "${name}"`,
  });
}

async function checkRegion(client: DynamoDBClient): Promise<void> {
  try {
    await client.config.region();
  } catch (error) {
    throw new ThriceError({
      code: 'endpoint-unreachable',
      message: 'AWS region: expected one in AWS_REGION or in the AWS profile, found none',
      cause: error,
    });
  }
}
