import { type Lane, lanes, pascalCase } from './lanes.ts';

const SECONDS_PER_DAY = 86_400;
const WORK_RETENTION_SECONDS = 7 * SECONDS_PER_DAY;
/**
 * The SQS maximum.
 *
 * A moved message keeps its original send time, so it stays in the DLQ for at least 7 days.
 */
const DLQ_RETENTION_SECONDS = 14 * SECONDS_PER_DAY;
/** The SQS maximum: each poller asks an empty queue 3 times a minute. */
const LONG_POLL_SECONDS = 20;

/**
 * Receives before SQS moves a message to the DLQ.
 *
 * Only messages that no worker could report reach this limit: the worker crashed, or the message is
 * unreadable. A worker reports a failed cell to the DLQ itself. A cell that has to wait is sent as a new
 * message, whose receive count starts at 0.
 */
const MAX_RECEIVES = 10;

/** Timeouts of the functions. Their queues' visibility timeouts are derived from these. */
export const timeoutSeconds = {
  /** The Lambda maximum: a call may take minutes, and a cell may have several. */
  answer: 900,
  plan: 900,
  finalize: 900,
} as const;

/** A lane and its queue. */
export interface LaneQueue extends Lane {
  readonly queue: sst.aws.Queue;
}

export interface Queues {
  readonly lanes: readonly LaneQueue[];
  readonly plan: sst.aws.Queue;
  readonly finalize: sst.aws.Queue;
  /** Failed cells of all lanes. */
  readonly deadLetterQueue: sst.aws.Queue;
  /** Failed plan requests, finalize requests, and ticks; separate, so the other DLQ holds only cells. */
  readonly controlDeadLetterQueue: sst.aws.Queue;
}

/** Creates the queues: one per lane, so that a slow provider cannot starve others, plan, and finalize. */
export function createQueues(): Queues {
  const deadLetterQueue = createDeadLetterQueue('DeadLetterQueue');
  const controlDeadLetterQueue = createDeadLetterQueue('ControlDeadLetterQueue');
  return {
    lanes: lanes.map((lane) => ({
      ...lane,
      queue: createQueue(`Lane${pascalCase(lane.name)}`, timeoutSeconds.answer, deadLetterQueue),
    })),
    plan: createQueue('Plans', timeoutSeconds.plan, controlDeadLetterQueue),
    finalize: createQueue('Finalizations', timeoutSeconds.finalize, controlDeadLetterQueue),
    deadLetterQueue,
    controlDeadLetterQueue,
  };
}

/**
 * Creates a queue that a function consumes.
 *
 * Its visibility timeout is six times the function's timeout, as AWS recommends for throttled pollers
 * (there is no batching window to add). It applies only until a worker receives the message and shortens
 * it to its lease.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html (2026-11)
 */
function createQueue(
  name: string,
  functionTimeoutSeconds: number,
  deadLetterQueue: sst.aws.Queue,
): sst.aws.Queue {
  return new sst.aws.Queue(name, {
    visibilityTimeout: `${6 * functionTimeoutSeconds} seconds`,
    dlq: { queue: deadLetterQueue.arn, retry: MAX_RECEIVES },
    transform: {
      queue: {
        messageRetentionSeconds: WORK_RETENTION_SECONDS,
        receiveWaitTimeSeconds: LONG_POLL_SECONDS,
        sqsManagedSseEnabled: true,
      },
    },
  });
}

function createDeadLetterQueue(name: string): sst.aws.Queue {
  return new sst.aws.Queue(name, {
    transform: {
      queue: {
        messageRetentionSeconds: DLQ_RETENTION_SECONDS,
        receiveWaitTimeSeconds: LONG_POLL_SECONDS,
        sqsManagedSseEnabled: true,
      },
    },
  });
}
