import { SqsGroupRequests } from '@thrice/aws';
import { openQueues } from '../support/aws-emulators.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { receiveMessages } from '../support/message-queue.ts';
import { describeGroupRequestsContract } from './group-requests-contract.ts';

describeGroupRequestsContract('SQS, emulated', async () => {
  const queues = await openQueues(new FakeClock(), ['tasks', 'results']);
  const urlOf = (kind: string) => queues.queueUrls.get(kind) ?? '';
  const queueUrls = { tasks: urlOf('tasks'), results: urlOf('results') };
  const inFlight: { remove(): Promise<void> }[] = [];
  return {
    requests: new SqsGroupRequests({ client: queues.client, queueUrls }),
    other: new SqsGroupRequests({ client: queues.otherClient, queueUrls }),
    receive: async (kind) => {
      const received = await receiveMessages(queues.otherClient, queueUrls[kind]);
      inFlight.push(...received);
      return received.map(({ body }) => body);
    },
    finish: async () => {
      for (const message of inFlight) await message.remove();
    },
    [Symbol.asyncDispose]: () => queues[Symbol.asyncDispose](),
  };
});
