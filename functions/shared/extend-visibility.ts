import { backoffMs, limits, toThriceError } from '@thrice/core';
import type { ControlComposition } from './compose-control.ts';
import type { SqsRecord } from './sqs-event.ts';

/** Delay before a message whose work failed is delivered again. */
const FAILURE_BACKOFF = { baseMs: 30_000, capMs: 900_000 };

/**
 * Extends a message's visibility timeout, one lease at a time, until the work on it ends.
 *
 * If the worker crashes, the message is delivered again after about a minute instead of the queue's long
 * visibility timeout. If the work fails, the message is delivered again after a backoff, or when its error says.
 *
 * @param queueName - The name of the queue in the composition's request queues.
 */
export async function extendVisibilityDuring(
  { receiptHandle: receipt, attributes }: SqsRecord,
  queueName: 'plan' | 'finalize',
  { requestQueues, clock, random }: Pick<ControlComposition, 'requestQueues' | 'clock' | 'random'>,
  work: () => Promise<void>,
): Promise<void> {
  const message = { lane: queueName, receipt };
  const workEnded = new AbortController();
  const extendUntilWorkEnds = async () => {
    while (!workEnded.signal.aborted) {
      await clock.sleep(limits.heartbeatMs, workEnded.signal);
      // If an extension fails, the next one comes well before the lease ends.
      if (!workEnded.signal.aborted) await requestQueues.extend([message]).catch(() => undefined);
    }
  };
  const extensions = extendUntilWorkEnds();
  try {
    await requestQueues.extend([message]);
    await work();
  } catch (thrown) {
    const failureCount = attributes.ApproximateReceiveCount;
    const { retryAfterMs } = toThriceError(thrown).details;
    const delayMs = retryAfterMs ?? backoffMs(failureCount, { ...FAILURE_BACKOFF, random });
    await requestQueues.release(message, delayMs).catch(() => undefined);
    throw thrown;
  } finally {
    workEnded.abort();
    await extensions;
  }
}
