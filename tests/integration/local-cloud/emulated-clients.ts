import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import {
  type EmulatorsInit,
  startEmulators,
} from '../../../packages/local-cloud/src/start-emulators.ts';

interface Clients {
  readonly dynamo: DynamoDBClient;
  readonly sqs: SQSClient;
  readonly s3: S3Client;
  /** URL of the queue `work`. */
  readonly queueUrl: string;
}

/** Emulators with a bucket `bucket` and queues `work` and `dead`, and clients for them. */
export interface EmulatedClients extends Clients, AsyncDisposable {
  /** Clients that bypass the interceptor. */
  readonly direct: Clients;
  /** Creates a table whose key is `pk`. */
  createTable(name: string): Promise<void>;
  /** Stops the emulators before the clients, so that the clients notice. */
  end(): Promise<void>;
}

/**
 * Starts emulators.
 *
 * @param init.maxAttempts - The clients' attempts per request. @default The SDK's
 * @param init.maxReceiveCount - Receives of a message of `work` before it moves to `dead`. @default 100
 */
export async function openEmulators({
  maxAttempts,
  maxReceiveCount = 100,
  ...init
}: Pick<EmulatorsInit, 'intercept' | 'onInterceptError'> & {
  readonly maxAttempts?: number;
  readonly maxReceiveCount?: number;
} = {}): Promise<EmulatedClients> {
  const queue = { delaySeconds: 0, fifoQueue: false as const, receiveWaitTimeSeconds: 0 };
  const redrivePolicy = JSON.stringify({
    deadLetterTargetArn: 'arn:aws:sqs:us-east-1:123456789012:dead',
    maxReceiveCount,
  });
  const emulators = await startEmulators({
    region: 'us-east-1',
    bucketNames: ['bucket'],
    queues: [
      { ...queue, name: 'work', visibilityTimeoutSeconds: 30, redrivePolicy },
      { ...queue, name: 'dead', visibilityTimeoutSeconds: 30 },
    ],
    ...init,
  });
  const opened: { destroy(): void }[] = [];
  const { region, credentials } = emulators;
  const connect = (urls: typeof emulators.direct): Clients => {
    const common = { region, credentials, ...(maxAttempts !== undefined && { maxAttempts }) };
    const dynamo = new DynamoDBClient({ ...common, endpoint: urls.dynamoUrl });
    const sqs = new SQSClient({ ...common, endpoint: urls.sqsUrl });
    const s3 = new S3Client({ ...common, endpoint: urls.s3Url, forcePathStyle: true });
    opened.push(dynamo, sqs, s3);
    return { dynamo, sqs, s3, queueUrl: `${urls.sqsUrl}/123456789012/work` };
  };
  const clients = connect(emulators);
  const direct = connect(emulators.direct);
  const end = async () => {
    await emulators[Symbol.asyncDispose]();
    for (const client of opened) client.destroy();
  };
  return {
    ...clients,
    direct,
    async createTable(TableName) {
      await direct.dynamo.send(
        new CreateTableCommand({
          TableName,
          BillingMode: 'PAY_PER_REQUEST',
          AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
          KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
        }),
      );
    },
    end,
    [Symbol.asyncDispose]: end,
  };
}
