import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import {
  clientConfig,
  DynamoActiveGroups,
  DynamoBatches,
  DynamoBudgets,
  DynamoCallPool,
  DynamoLanePaces,
  DynamoLaneSlots,
  DynamoLedger,
  DynamoNotifications,
  DynamoResendNotes,
  DynamoStretches,
  S3BlobStore,
  SqsDeadLetterQueue,
  SqsGroupRequests,
  SqsTaskQueue,
  type Stage,
  s3ClientConfig,
} from '@thrice/aws';
import {
  type ActiveGroups,
  type Batches,
  type BlobStore,
  type Budgets,
  type CallConditions,
  type CallPool,
  type Clock,
  type CreateDigest,
  type DeadLetterQueue,
  type GroupRequests,
  LaneHealth,
  type Ledger,
  type Notifications,
  type PatternMatcher,
  RecentGroups,
  type ResendNotes,
  SharedGovernor,
  type Stretches,
} from '@thrice/core';
import { ThreadPatternMatcher } from '@thrice/patterns';
import { lambdaClock } from './lambda-clock.ts';
import { createNodeDigest } from './node-digest.ts';
import { readStage } from './stage.ts';

/**
 * Attempts per AWS request, as far as its time limits allow.
 *
 * High, because throttling is temporary and a failed write may waste paid calls.
 */
const MAX_ATTEMPTS = 8;

/**
 * The dependencies of the handlers, created once per cold start.
 *
 * They hold clients and what was last read of lanes and groups, but no state of a cell.
 */
export interface Composition {
  readonly stage: Stage;
  readonly clock: Clock;
  readonly createDigest: CreateDigest;
  readonly ledger: Ledger & CallConditions;
  readonly pool: CallPool;
  readonly batches: Batches;
  readonly budgets: Budgets;
  readonly blobs: BlobStore;
  /** The queues of the lanes. */
  readonly queue: Pick<SqsTaskQueue, keyof SqsTaskQueue>;
  /** The plan and finalize queues, whose messages are held while they are processed. */
  readonly requestQueues: Pick<SqsTaskQueue, 'extend' | 'release'>;
  readonly activeGroups: ActiveGroups;
  readonly requests: GroupRequests;
  readonly resendNotes: ResendNotes;
  readonly notifications: Notifications;
  /** What a suggested command needs to find a group of the stage. */
  readonly flag: string;
  readonly stretches: Stretches;
  readonly deadLetterQueue: DeadLetterQueue;
  readonly patterns: PatternMatcher;
  /** What the calls of this execution environment have shown, over its invocations. */
  readonly laneHealth: LaneHealth;
  /** What this execution environment knows of the groups, over its invocations. */
  readonly recentGroups: RecentGroups;
  /** Paces the calls of rate-limited lanes together with all other workers. */
  readonly governor: SharedGovernor;
}

let composition: Composition | undefined;

/** Returns the composition of this execution environment. */
export function compose(): Composition {
  composition ??= createComposition();
  return composition;
}

function createComposition(): Composition {
  const stage = readStage();
  const clock = lambdaClock;
  const random = Math.random;
  const requests = { maxAttempts: MAX_ATTEMPTS, clock, random };
  const sqs = new SQSClient(clientConfig(requests));
  const dynamo = new DynamoDBClient(clientConfig(requests));
  const s3 = new S3Client(s3ClientConfig(requests));
  const blobs = new S3BlobStore({ client: s3, bucket: stage.bucketName });
  const openQueues = (urls: Readonly<Record<string, string>>) =>
    new SqsTaskQueue({
      client: sqs,
      queueUrls: new Map(Object.entries(urls)),
      clock,
      random,
      // Lambda delivers the messages, so the functions never call `receive`.
      onPoison: () => undefined,
    });
  const table = { client: dynamo, tableName: stage.tableName, clock, random };
  const paces = new DynamoLanePaces(table);
  const slots = new DynamoLaneSlots(table);
  const governor = new SharedGovernor({ paces, slots, clock, random, createToken: randomUUID });
  return {
    stage,
    clock,
    blobs,
    ledger: new DynamoLedger({ ...table, blobs }),
    pool: new DynamoCallPool({ ...table, blobs }),
    batches: new DynamoBatches({ ...table, blobs }),
    budgets: new DynamoBudgets({ ...table, blobs }),
    createDigest: createNodeDigest,
    activeGroups: new DynamoActiveGroups(table),
    resendNotes: new DynamoResendNotes(table),
    notifications: new DynamoNotifications(table),
    flag: ` --stage ${stage.stage}`,
    stretches: new DynamoStretches(table),
    queue: openQueues(stage.laneQueueUrls),
    requestQueues: openQueues({ plan: stage.planQueueUrl, finalize: stage.finalizeQueueUrl }),
    requests: new SqsGroupRequests({
      client: sqs,
      queueUrls: { tasks: stage.planQueueUrl, results: stage.finalizeQueueUrl },
    }),
    deadLetterQueue: new SqsDeadLetterQueue({ client: sqs, queueUrl: stage.deadLetterQueueUrl }),
    patterns: new ThreadPatternMatcher(clock),
    laneHealth: new LaneHealth({ clock, random }),
    recentGroups: new RecentGroups({ clock, governor }),
    governor,
  };
}
