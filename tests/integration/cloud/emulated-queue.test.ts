import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { startEmulators } from '../../../packages/cloud/src/start-emulators.ts';

describe('the queue on one machine', () => {
  it('does not count a change of visibility as a receive', async () => {
    await using queue = await openQueue();
    await queue.send('a');
    const first = await queue.receive(1);

    for (const VisibilityTimeout of [30, 30, 0]) {
      await queue.client.send(
        new ChangeMessageVisibilityCommand({
          QueueUrl: queue.url,
          ReceiptHandle: first[0]?.ReceiptHandle,
          VisibilityTimeout,
        }),
      );
    }

    const second = await queue.receive(1);
    expect(second[0]?.Attributes?.ApproximateReceiveCount).toBe('2');
  });

  it('counts visible, held and delayed messages apart', async () => {
    await using queue = await openQueue();
    await queue.send('a');
    await queue.send('b');
    await queue.send('late', 60);
    await queue.receive(1);

    const { Attributes } = await queue.client.send(
      new GetQueueAttributesCommand({ QueueUrl: queue.url, AttributeNames: ['All'] }),
    );

    expect(Attributes).toMatchObject({
      ApproximateNumberOfMessages: '1',
      ApproximateNumberOfMessagesNotVisible: '1',
      ApproximateNumberOfMessagesDelayed: '1',
    });
  });

  it('ends a long poll as soon as there is a message, with what there is', async () => {
    await using queue = await openQueue();
    const polling = queue.receive(10, 20);

    await queue.send('a');

    expect((await polling).map(({ Body }) => Body)).toEqual(['a']);
  });
});

async function openQueue() {
  const emulators = await startEmulators({
    region: 'us-east-1',
    bucketNames: [],
    queues: [
      {
        name: 'work',
        delaySeconds: 0,
        fifoQueue: false,
        visibilityTimeoutSeconds: 30,
        receiveWaitTimeSeconds: 0,
      },
    ],
  });
  const { region, credentials, sqsUrl } = emulators;
  const client = new SQSClient({ region, credentials, endpoint: sqsUrl });
  const url = `${sqsUrl}/123456789012/work`;
  return {
    client,
    url,
    async send(body: string, DelaySeconds = 0) {
      await client.send(new SendMessageCommand({ QueueUrl: url, MessageBody: body, DelaySeconds }));
    },
    async receive(max: number, WaitTimeSeconds = 1) {
      const { Messages = [] } = await client.send(
        new ReceiveMessageCommand({
          QueueUrl: url,
          MaxNumberOfMessages: max,
          WaitTimeSeconds,
          AttributeNames: ['All'],
        }),
      );
      return Messages;
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
      await emulators[Symbol.asyncDispose]();
    },
  };
}
