import type { DeployedStage } from '@thrice/aws';
import type {
  BatchTools,
  BlobRemover,
  BlobStore,
  Budgets,
  CallConditions,
  CreateDigest,
  Ledger,
  PatternMatcher,
  ResponseCache,
} from '@thrice/core';
import type { DynamoEmulator } from './aws-emulators.ts';
import { batchTools } from './batch-tools.ts';
import { openLedger } from './dynamo-ledgers.ts';
import { FakeActiveGroups } from './fake-active-groups.ts';
import { FakeBatches } from './fake-batches.ts';
import { FakeGroupRequests } from './fake-group-requests.ts';
import { FakeNotifications, FakeWebhook } from './fake-notifications.ts';
import { createTestDigest } from './fake-source-reader.ts';
import { FakeWorkLeases } from './fake-work-leases.ts';
import { inProcessPatterns } from './in-process-patterns.ts';
import type { PassingClock } from './passing-clock.ts';

/** A stage without workers: a real ledger, everything else in memory. */
export interface QuietStage extends AsyncDisposable {
  readonly stage: DeployedStage;
  readonly place: string;
  readonly flag: string;
  readonly clock: PassingClock;
  readonly ledger: Ledger & CallConditions;
  readonly responseCache: ResponseCache;
  readonly batching: BatchTools;
  readonly batches: FakeBatches;
  readonly budgets: Budgets;
  readonly blobs: BlobStore & BlobRemover;
  readonly activeGroups: FakeActiveGroups;
  readonly requests: FakeGroupRequests;
  readonly workLeases: FakeWorkLeases;
  readonly notifications: FakeNotifications;
  readonly webhook: FakeWebhook;
  readonly patterns: PatternMatcher;
  readonly createDigest: CreateDigest;
}

/** Opens a stage `dev` with a queue for each of the lanes. */
export async function openQuietStage(
  dynamo: DynamoEmulator,
  lanes: readonly string[] = ['lab'],
): Promise<QuietStage> {
  const { ledger, responseCache, budgets, blobs, clock, ...table } = await openLedger(dynamo);
  const queueUrl = 'http://127.0.0.1:1/queue';
  return {
    stage: {
      stage: 'dev',
      tableName: 'thrice-dev-ledger',
      bucketName: 'artifacts',
      laneQueueUrls: Object.fromEntries(lanes.map((lane) => [lane, queueUrl])),
      deadLetterQueueUrl: queueUrl,
      controlDeadLetterQueueUrl: queueUrl,
      planQueueUrl: queueUrl,
      finalizeQueueUrl: queueUrl,
      toolVersion: '1.2.3',
      codeDigest: null,
    },
    place: 's3://artifacts',
    flag: ' --stage dev',
    clock,
    ledger,
    responseCache,
    batching: batchTools(),
    batches: new FakeBatches(),
    budgets,
    blobs,
    activeGroups: new FakeActiveGroups(),
    requests: new FakeGroupRequests(),
    workLeases: new FakeWorkLeases(clock),
    notifications: new FakeNotifications(),
    webhook: new FakeWebhook(),
    patterns: inProcessPatterns,
    createDigest: createTestDigest,
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
}
