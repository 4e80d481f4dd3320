import { backoffMs, limits } from '@thrice/core';
import type { Composition } from './compose.ts';
import type { SqsRecord } from './sqs-event.ts';

/** How long a message stays away whose work failed. */
const FAILURE_BACKOFF = { baseMs: 30_000, capMs: 900_000 };

/**
 * Holds a message for as long as the work on it goes on, one lease at a time: the message of a worker that
 * died comes again in a minute and not after the queue's long visibility, and one whose work failed soon.
 *
 * @param queueName - As the composition's request queues name it.
 */
export async function extendVisibilityDuring(
  { receiptHandle: receipt, attributes }: SqsRecord,
  queueName: 'plan' | 'finalize',
  { requestQueues, clock }: Pick<Composition, 'requestQueues' | 'clock'>,
  work: () => Promise<void>,
): Promise<void> {
  const message = { lane: queueName, receipt };
  await requestQueues.extend([message]);
  const working = new AbortController();
  const hold = async () => {
    while (!working.signal.aborted) {
      await clock.sleep(limits.heartbeatMs, working.signal);
      // One that is missed is made up for by the next, well before the lease is over.
      if (!working.signal.aborted) await requestQueues.extend([message]).catch(() => undefined);
    }
  };
  const holding = hold();
  try {
    await work();
  } catch (thrown) {
    const failureCount = attributes.ApproximateReceiveCount;
    const delayMs = backoffMs(failureCount, { ...FAILURE_BACKOFF, random: Math.random });
    await requestQueues.release(message, delayMs).catch(() => undefined);
    throw thrown;
  } finally {
    working.abort();
    await holding;
  }
}
