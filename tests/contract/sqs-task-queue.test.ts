import { SqsTaskQueue } from '@thrice/aws';
import { openQueues } from '../support/aws-emulators.ts';
import { describeTaskQueueContract } from './task-queue-contract.ts';

describeTaskQueueContract('SQS, emulated', async (clock) => {
  const queues = await openQueues(clock);
  const { queueUrls } = queues;
  const onPoison = () => {
    throw new Error('expected tasks only');
  };
  const init = { queueUrls, clock, random: () => 0, onPoison };
  return {
    queue: new SqsTaskQueue({ ...init, client: queues.client }),
    other: new SqsTaskQueue({ ...init, client: queues.otherClient }),
    [Symbol.asyncDispose]: () => queues[Symbol.asyncDispose](),
  };
});
