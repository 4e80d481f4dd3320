import type { DeployedStage } from '@thrice/aws';
import type {
  BatchTools,
  BlobRemover,
  BlobStore,
  Budgets,
  CallConditions,
  CreateDigest,
  Ledger,
  ResponseCache,
  UserCode,
} from '@thrice/core';
import type { DynamoEmulator } from './aws-emulators.ts';
import { batchTools } from './batch-tools.ts';
import { aDeployedStage } from './deployed-stage.ts';
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
  readonly userCode: UserCode;
  readonly createDigest: CreateDigest;
}

/** Opens a stage `dev` with a queue for each of the lanes. */
export async function openQuietStage(
  dynamo: Pick<DynamoEmulator, 'openTable'>,
  lanes: readonly string[] = ['lab'],
): Promise<QuietStage> {
  const { ledger, responseCache, budgets, blobs, clock, ...table } = await openLedger(dynamo);
  return {
    stage: aDeployedStage({
      laneQueueUrls: Object.fromEntries(lanes.map((lane) => [lane, 'https://queue/lane'])),
    }),
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
    userCode: inProcessPatterns,
    createDigest: createTestDigest,
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  };
}
