import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { DynamoLedger, findStage, S3BlobStore, SqsTaskQueue, type Stage } from '@thrice/aws';
import type { BlobStore, Clock, Ledger, TaskQueue } from '@thrice/core';
import { systemClock } from '@thrice/local';

/** A deployed stage as commands see it. */
export interface CloudEngine extends Disposable {
  readonly stage: Stage;
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly blobs: BlobStore;
  readonly queue: TaskQueue;
}

/**
 * Opens a deployed stage, with the credentials, region and endpoints that the AWS SDK finds.
 *
 * @throws {ThriceError} `endpoint-unreachable` where there is no such stage.
 */
export async function openStage(name: string): Promise<CloudEngine> {
  const dynamo = new DynamoDBClient({});
  const sqs = new SQSClient({});
  const s3 = new S3Client({ forcePathStyle: true });
  const stage = await findStage(dynamo, name);
  const random = Math.random;
  const blobs = new S3BlobStore({ client: s3, bucket: stage.bucketName });
  return {
    stage,
    clock: systemClock,
    blobs,
    ledger: new DynamoLedger({
      client: dynamo,
      tableName: stage.tableName,
      clock: systemClock,
      random,
      blobs,
    }),
    queue: new SqsTaskQueue({
      client: sqs,
      queueUrls: new Map(Object.entries(stage.laneQueueUrls)),
      clock: systemClock,
      random,
      onPoison: () => undefined,
    }),
    [Symbol.dispose]: () => {
      for (const client of [dynamo, sqs, s3]) client.destroy();
    },
  };
}
