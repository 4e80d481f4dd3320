import { SqsDeadLetters } from '@thrice/aws';
import { openQueues } from '../support/aws-emulators.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { takeMessages } from '../support/message-queue.ts';
import { describeDeadLettersContract } from './dead-letters-contract.ts';

describeDeadLettersContract('SQS, emulated', async () => {
  const queues = await openQueues(new FakeClock(), ['dead-letters']);
  const queueUrl = queues.queueUrls.get('dead-letters') ?? '';
  return {
    deadLetters: new SqsDeadLetters({ client: queues.client, queueUrl }),
    read: async () => {
      const messages = await takeMessages(queues.otherClient, queueUrl);
      return messages.map(({ body }) => body);
    },
    [Symbol.asyncDispose]: () => queues[Symbol.asyncDispose](),
  };
});
