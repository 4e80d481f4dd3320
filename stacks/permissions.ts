import type { Storage } from './storage.ts';

/** What a function may do, action by action: linking the components would grant `sqs:*` and the like. */
export interface Permission {
  readonly actions: string[];
  readonly resources: $util.Input<string>[];
}

/** The parts of the bucket: what users ask, what they get, and payloads too large for an item. */
type Prefix = 'questions' | 'runs' | 'spill';

/** Actions on the one table; `Scan` is left out on purpose. */
export function onTable(
  { table }: Storage,
  ...actions: ('BatchGetItem' | 'DeleteItem' | 'GetItem' | 'PutItem' | 'Query' | 'UpdateItem')[]
): Permission {
  return { actions: actions.map((action) => `dynamodb:${action}`), resources: [table.arn] };
}

/** Reading and writing under prefixes; nothing may delete. */
export function onBucket(
  { bucket }: Storage,
  { read, write }: { readonly read: readonly Prefix[]; readonly write: readonly Prefix[] },
): Permission[] {
  const under = (prefixes: readonly Prefix[]) =>
    prefixes.map((prefix) => $interpolate`${bucket.arn}/${prefix}/*`);
  const reading = [
    { actions: ['s3:GetObject'], resources: under(read) },
    // Without it S3 answers 403 instead of 404 for an object that is not there.
    { actions: ['s3:ListBucket'], resources: [bucket.arn] },
  ];
  if (write.length === 0) return reading;
  const actions = ['s3:AbortMultipartUpload', 's3:PutObject'];
  return [...reading, { actions, resources: under(write) }];
}

/** What the poller of a subscription needs, and a worker to hold and return its message. */
export function toConsume(queues: readonly sst.aws.Queue[]): Permission {
  return {
    actions: [
      'sqs:ChangeMessageVisibility',
      'sqs:DeleteMessage',
      'sqs:GetQueueAttributes',
      'sqs:ReceiveMessage',
    ],
    resources: queues.map(({ arn }) => arn),
  };
}

export function toSend(queues: readonly sst.aws.Queue[]): Permission {
  return { actions: ['sqs:SendMessage'], resources: queues.map(({ arn }) => arn) };
}

/** How many messages a queue holds. */
export function toCount(queues: readonly sst.aws.Queue[]): Permission {
  return { actions: ['sqs:GetQueueAttributes'], resources: queues.map(({ arn }) => arn) };
}
