import { type Lane, lanes, pascalCase } from './lanes.ts';

const SECONDS_PER_DAY = 86_400;
const PLAIN_RETENTION_SECONDS = 7 * SECONDS_PER_DAY;
/** The most SQS has. A DLQ message keeps its first send time, so it stays 7 days at the least. */
const DEAD_LETTER_RETENTION_SECONDS = 14 * SECONDS_PER_DAY;
/** 20 s, the most SQS has: an empty queue is asked 3 times a minute and poller. */
const LONG_POLL_SECONDS = 20;

/**
 * Receives after which SQS itself gives a message up.
 *
 * Only what a worker can no longer report gets there: it was killed, or the message is unreadable. A
 * cell that failed is sent to the DLQ by its worker; one that waits is sent anew, its count
 * at 0.
 */
const MAX_RECEIVES = 10;

/** How long a function may run: what its queue's visibility and its own settings follow from. */
export const timeoutSeconds = {
  /** The most Lambda has: one call may think for minutes, and a cell may have several. */
  answer: 900,
  plan: 900,
  finalize: 900,
} as const;

/** A lane with its queue. */
export interface LaneQueue extends Lane {
  readonly queue: sst.aws.Queue;
}

export interface Queues {
  readonly lanes: readonly LaneQueue[];
  readonly plan: sst.aws.Queue;
  readonly finalize: sst.aws.Queue;
  /** Failed cells, of every lane. */
  readonly deadLetterQueue: sst.aws.Queue;
  /** Plans, finalizations and ticks that failed; apart, so that the former holds cells only. */
  readonly controlDeadLetterQueue: sst.aws.Queue;
}

/** One queue a lane, so that a slow provider cannot starve another; one each for plans and ends. */
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
 * A queue of work.
 *
 * Its visibility is six times the function's timeout, as AWS asks (no batching window to add): the
 * poller may be throttled for long. It counts only until a worker has the message and shortens it
 * to its lease.
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
        messageRetentionSeconds: PLAIN_RETENTION_SECONDS,
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
        messageRetentionSeconds: DEAD_LETTER_RETENTION_SECONDS,
        receiveWaitTimeSeconds: LONG_POLL_SECONDS,
        sqsManagedSseEnabled: true,
      },
    },
  });
}
