import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { DynamoLaneStates, DynamoLedger, S3BlobStore, SqsTaskQueue } from '@thrice/aws';
import { type Delivery, openTaskMemory, RecentGroups } from '@thrice/core';
import { systemClock as clock } from '@thrice/local';
import { openModelClients, openTransport } from '@thrice/models';
import * as z from 'zod';
import { createAnswerHandler } from '../../functions/shared/answer-handler.ts';
import { LambdaStage, sqsEvent } from '../support/lambda-stage.ts';

const WARM_UP_CELLS = 200;
const settingSchema = z.object({
  tableName: z.string(),
  bucket: z.string(),
  queueUrl: z.string(),
  dynamodb: z.string(),
  sqs: z.string(),
  s3: z.string(),
});

/** Answers tasks, some in each invocation, and prints the processor time per cell after the first ones, ms. */
const { tableName, bucket, queueUrl, ...endpoints } = settingSchema.parse(
  JSON.parse(process.argv[2] ?? ''),
);
const [cellCount = 0, cellsPerInvocation = 0] = process.argv.slice(3).map(Number);
const region = 'us-east-1';
const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };
const config = { region, credentials, maxAttempts: 8 };
const { random } = Math;
const s3 = new S3Client({ ...config, endpoint: endpoints.s3, forcePathStyle: true });
const blobs = new S3BlobStore({ client: s3, bucket });
const client = new DynamoDBClient({ ...config, endpoint: endpoints.dynamodb });
const ledger = new DynamoLedger({ client, tableName, clock, random, blobs });
const states = new DynamoLaneStates({ client, tableName, clock, random });
const memory = openTaskMemory({ states, clock, random });
const queueUrls = new Map([['lab', queueUrl]]);
const onPoison = () => undefined;
const sqs = new SQSClient({ ...config, endpoint: endpoints.sqs });
const queue = new SqsTaskQueue({ client: sqs, queueUrls, clock, random, onPoison });
let readingCount = 0;
/** Each answer comes seconds after the last: nothing is remembered of it. */
const passing = {
  ...clock,
  now: () => {
    readingCount += 1;
    return clock.now() + readingCount * 10_000;
  },
};
const composition = {
  ...new LambdaStage().compose(),
  clock,
  ledger,
  blobs,
  queue,
  ...memory,
  recentGroups: new RecentGroups({ ...memory, clock: passing }),
};
const handler = createAnswerHandler({
  compose: () => composition,
  openModels: () =>
    openModelClients({
      keyOf: () => undefined,
      clock,
      transport: openTransport({ environment: {} }),
    }),
});
const context = { awsRequestId: 'request-1', getRemainingTimeInMillis: () => 900_000 };

let spentUs = 0;
for (let answered = 0; answered < cellCount; answered += cellsPerInvocation) {
  const deliveries: Delivery[] = [];
  while (deliveries.length < cellsPerInvocation) {
    deliveries.push(...(await queue.receive('lab', cellsPerInvocation - deliveries.length)));
  }
  const mark = process.cpuUsage();
  const { batchItemFailures } = await handler(sqsEvent(deliveries), context);
  const { user, system } = process.cpuUsage(mark);
  if (batchItemFailures.length > 0) throw new Error('expected answers');
  // What the function has deleted itself is deleted twice.
  for (const delivery of deliveries) await queue.acknowledge(delivery);
  if (answered >= WARM_UP_CELLS) spentUs += user + system;
}
process.stdout.write(`${spentUs / 1_000 / (cellCount - WARM_UP_CELLS)}\n`);
