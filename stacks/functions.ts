import { onBucket, onTable, toConsume, toCount, toSend } from './permissions.ts';
import { type Queues, timeoutSeconds } from './queues.ts';
import type { Storage } from './storage.ts';

/** Plans and finalizations at once; 2 is the least a subscription can be held to. */
const CONTROL_CONCURRENCY = 2;

export interface FunctionsInit {
  readonly storage: Storage;
  readonly queues: Queues;
  readonly apiKeys: sst.Linkable<Record<string, $util.Output<string>>>;
  /** The stage's directory. */
  readonly link: sst.Linkable<Record<string, unknown>>;
}

/** The four functions by name. */
export type Functions = Readonly<
  Record<'answer' | 'plan' | 'finalize' | 'reconciler', sst.aws.Function>
>;

/** Creates the functions and what sets them off. */
export function createFunctions(init: FunctionsInit): Functions {
  return {
    answer: createAnswer(init),
    plan: createPlan(init),
    finalize: createFinalize(init),
    reconciler: createReconciler(init),
  };
}

/**
 * Answers one cell a message, of every lane.
 *
 * Billed for memory times waiting for models, so it gets little memory: it parses one answer. The
 * lanes' shares add up to its reservation, so no lane can take another's, and none is throttled.
 */
function createAnswer({ storage, queues, apiKeys, link }: FunctionsInit): sst.aws.Function {
  const laneQueues = queues.lanes.map(({ queue }) => queue);
  const shares = queues.lanes.map(({ maximumConcurrency }) => maximumConcurrency);
  const answer = new sst.aws.Function('Answer', {
    handler: 'functions/answer.handler',
    timeout: `${timeoutSeconds.answer} seconds`,
    memory: '512 MB',
    concurrency: { reserved: shares.reduce((sum, share) => sum + share, 0) },
    nodejs: { minify: true },
    link: [link, apiKeys],
    permissions: [
      onTable(storage, 'BatchGetItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'),
      ...onBucket(storage, { read: ['questions', 'spill'], write: ['spill'] }),
      toConsume(laneQueues),
      toSend([...laneQueues, queues.deadLetterQueue, queues.finalize]),
    ],
  });
  for (const { queue, maximumConcurrency } of queues.lanes) {
    subscribe(queue, answer, maximumConcurrency);
  }
  return answer;
}

/** Turns stored questions into messages: much JSON, hence the memory that buys a whole CPU. */
function createPlan({ storage, queues, link }: FunctionsInit): sst.aws.Function {
  const laneQueues = queues.lanes.map(({ queue }) => queue);
  const plan = new sst.aws.Function('Plan', {
    handler: 'functions/plan.handler',
    timeout: `${timeoutSeconds.plan} seconds`,
    memory: '1769 MB',
    concurrency: { reserved: CONTROL_CONCURRENCY },
    nodejs: { minify: true },
    link: [link],
    permissions: [
      onTable(storage, 'BatchGetItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'),
      ...onBucket(storage, { read: ['questions', 'spill'], write: [] }),
      toConsume([queues.plan]),
      toSend([...laneQueues, queues.plan]),
    ],
  });
  subscribe(queues.plan, plan, CONTROL_CONCURRENCY);
  return plan;
}

/** Writes rows and summaries of a group: reads every record, so it too gets a whole CPU. */
function createFinalize({ storage, queues, link }: FunctionsInit): sst.aws.Function {
  const finalize = new sst.aws.Function('Finalize', {
    handler: 'functions/finalize.handler',
    timeout: `${timeoutSeconds.finalize} seconds`,
    memory: '1769 MB',
    concurrency: { reserved: CONTROL_CONCURRENCY },
    nodejs: { minify: true },
    link: [link],
    permissions: [
      onTable(storage, 'BatchGetItem', 'DeleteItem', 'GetItem', 'PutItem', 'Query', 'UpdateItem'),
      ...onBucket(storage, { read: ['questions', 'runs', 'spill'], write: ['runs'] }),
      toConsume([queues.finalize]),
      toSend([queues.plan]),
    ],
  });
  subscribe(queues.finalize, finalize, CONTROL_CONCURRENCY);
  return finalize;
}

/**
 * Once a minute opens lanes, wakes deferred cells and refreshes progress; what is long, it asks others for.
 *
 * One at a time and done before the next: a tick that fails is not repeated, the next one does its
 * work. The scheduler's own retries and DLQ messages are for ticks that never reached it.
 */
function createReconciler({ storage, queues, link }: FunctionsInit): sst.aws.Function {
  const laneQueues = queues.lanes.map(({ queue }) => queue);
  const reconciler = new sst.aws.Function('Reconciler', {
    handler: 'functions/reconcile.handler',
    timeout: '50 seconds',
    memory: '512 MB',
    concurrency: { reserved: 1 },
    retries: 0,
    nodejs: { minify: true },
    link: [link],
    permissions: [
      onTable(storage, 'BatchGetItem', 'DeleteItem', 'GetItem', 'Query'),
      ...onBucket(storage, { read: ['runs', 'spill'], write: ['runs'] }),
      toSend([queues.plan, queues.finalize]),
      toCount([...laneQueues, queues.plan]),
    ],
    transform: { eventInvokeConfig: { maximumEventAgeInSeconds: 60 } },
  });
  new sst.aws.CronV2('ReconcilerTick', {
    schedule: 'rate(1 minute)',
    function: reconciler,
    retries: 2,
    dlq: queues.controlDeadLetterQueue.arn,
  });
  return reconciler;
}

/**
 * One message an invocation, so that a cell has the whole timeout and a crash takes no other along.
 *
 * Failures are still reported one by one, for whoever raises the size.
 */
function subscribe(
  queue: sst.aws.Queue,
  subscriber: sst.aws.Function,
  maximumConcurrency: number,
): void {
  queue.subscribe(subscriber.arn, {
    batch: { size: 1, partialResponses: true },
    transform: { eventSourceMapping: { scalingConfig: { maximumConcurrency } } },
  });
}
