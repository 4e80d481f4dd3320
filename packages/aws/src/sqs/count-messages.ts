import { GetQueueAttributesCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { mapSdkError } from '../map-sdk-error.ts';

/** Counts by message state; their sum is the number of messages in the queue. */
const COUNT_ATTRIBUTES = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesDelayed',
  'ApproximateNumberOfMessagesNotVisible',
] as const;

/**
 * Counts the messages in a queue: visible, delayed, and in flight.
 *
 * @param store - The queue's name in error messages.
 * @returns An approximation that may lag by a minute.
 */
export async function countMessages(
  client: SQSClient,
  queueUrl: string,
  store: string,
): Promise<number> {
  try {
    const { Attributes = {} } = await client.send(
      new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: [...COUNT_ATTRIBUTES] }),
    );
    return COUNT_ATTRIBUTES.reduce((sum, name) => sum + Number(Attributes[name] ?? 0), 0);
  } catch (error) {
    throw mapSdkError(error, store);
  }
}
