import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { DynamoLedger, S3BlobStore, SqsTaskQueue, type Stage } from '@thrice/aws';
import type { BlobStore, Clock, Ledger, TaskQueue } from '@thrice/core';
import { lambdaClock } from './lambda-clock.ts';
import { createLog, type Log } from './log.ts';
import { readStage } from './stage.ts';

/** Everything the handlers share, made once a cold start; it holds clients and no state of a cell. */
export interface Composition {
  readonly stage: Stage;
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly blobs: BlobStore;
  readonly queue: TaskQueue;
  readonly sqs: SQSClient;
  readonly log: Log;
  /** A name for leases, new for each invocation. */
  readonly newOwner: () => string;
}

let composition: Composition | undefined;

/** The composition of this execution environment. */
export function compose(): Composition {
  composition ??= createComposition();
  return composition;
}

function createComposition(): Composition {
  const stage = readStage();
  const log = createLog();
  const sqs = new SQSClient({});
  // Path style is what every S3-like server understands; a stage's bucket name has no dots.
  const blobs = new S3BlobStore({
    client: new S3Client({ forcePathStyle: true }),
    bucket: stage.bucketName,
  });
  return {
    stage,
    clock: lambdaClock,
    blobs,
    sqs,
    log,
    ledger: new DynamoLedger({
      client: new DynamoDBClient({}),
      tableName: stage.tableName,
      clock: lambdaClock,
      random: Math.random,
      blobs,
    }),
    queue: new SqsTaskQueue({
      client: sqs,
      queueUrls: new Map(Object.entries(stage.laneQueueUrls)),
      clock: lambdaClock,
      random: Math.random,
      onPoison: (poison) => log.error('poison message', { ...poison }),
    }),
    newOwner: randomUUID,
  };
}
