import { GetQueueAttributesCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { mapSdkError } from '../map-sdk-error.ts';

/** Messages of every state; together they are all that a queue holds. */
const COUNTS = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesDelayed',
  'ApproximateNumberOfMessagesNotVisible',
] as const;

/**
 * How many messages a queue holds: waiting, delayed and in flight.
 *
 * @param store - The queue, for messages.
 * @returns An approximation that may lag by a minute.
 */
export async function countMessages(
  client: SQSClient,
  queueUrl: string,
  store: string,
): Promise<number> {
  try {
    const { Attributes = {} } = await client.send(
      new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: [...COUNTS] }),
    );
    return COUNTS.reduce((sum, name) => sum + Number(Attributes[name] ?? 0), 0);
  } catch (error) {
    throw mapSdkError(error, store);
  }
}
