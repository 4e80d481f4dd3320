import { SqsDeadLetterQueue } from '@thrice/aws';
import { openQueues } from '../support/aws-emulators.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { receiveMessages } from '../support/message-queue.ts';
import { describeDeadLetterQueueContract } from './dead-letter-queue-contract.ts';

describeDeadLetterQueueContract('SQS, emulated', async () => {
  const queues = await openQueues(new FakeClock(), ['dlq']);
  const queueUrl = queues.queueUrls.get('dlq') ?? '';
  return {
    deadLetterQueue: new SqsDeadLetterQueue({ client: queues.client, queueUrl }),
    read: async () => {
      const messages = await receiveMessages(queues.otherClient, queueUrl);
      return messages.map(({ body }) => body);
    },
    [Symbol.asyncDispose]: () => queues[Symbol.asyncDispose](),
  };
});
