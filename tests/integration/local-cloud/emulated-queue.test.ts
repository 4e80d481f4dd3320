import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { waitUntil } from '../../support/wait-until.ts';
import { openEmulators } from './emulated-clients.ts';

describe('the emulated queue', () => {
  it('does not count a visibility change as a receive', async () => {
    await using queue = await openQueue();
    await queue.send('a');
    const first = await queue.receive(1);

    for (const seconds of [30, 30, 0]) await queue.changeVisibility(first[0], seconds);

    const second = await queue.receive(1);
    expect(second[0]?.Attributes?.ApproximateReceiveCount).toBe('2');
  });

  it('ignores a visibility change of a message that is visible again', async () => {
    await using queue = await openQueue();
    await queue.send('a');
    const [first] = await queue.receive(1);
    await queue.changeVisibility(first, 0);
    await waitUntil('it is visible', async () => (await queue.countVisible()) === 1);

    await queue.changeVisibility(first, 30);

    expect((await queue.receive(1)).map(({ Body }) => Body)).toEqual(['a']);
  });

  it('does not deliver a message again while it is in flight', async () => {
    await using queue = await openQueue();
    for (const body of ['a', 'b', 'c']) await queue.send(body);

    const received = await Promise.all([queue.receive(2, 0), queue.receive(2, 0)]);
    const last = await queue.receive(2, 0);

    expect(received.map((part) => part.map(({ Body }) => Body))).toEqual([['a', 'b'], ['c']]);
    expect(last).toEqual([]);
  });

  it('supports the newer name of the attribute names', async () => {
    await using queue = await openQueue();
    await queue.send('a');

    const { Messages = [] } = await queue.client.send(
      new ReceiveMessageCommand({
        QueueUrl: queue.url,
        MessageSystemAttributeNames: ['ApproximateReceiveCount', 'SenderId'],
      }),
    );

    expect(Messages.map(({ Attributes }) => Attributes)).toEqual([
      { ApproximateReceiveCount: '1', SenderId: expect.stringMatching(/^[A-Z0-9]+$/) as unknown },
    ]);
  });

  it('reports the source queue of a DLQ message', async () => {
    await using queue = await openQueue({ maxReceiveCount: 1 });
    await queue.send('a');
    const [message] = await queue.receive(1);

    await queue.changeVisibility(message, 0);

    const { Messages = [] } = await queue.client.send(
      new ReceiveMessageCommand({
        QueueUrl: queue.deadUrl,
        WaitTimeSeconds: 5,
        MessageSystemAttributeNames: ['DeadLetterQueueSourceArn'],
      }),
    );
    const arn = 'arn:aws:sqs:us-east-1:123456789012:work';
    expect(Messages.map(({ Attributes }) => Attributes)).toEqual([
      { DeadLetterQueueSourceArn: arn },
    ]);
    expect(Messages[0]?.MessageId).toBe(message?.MessageId);
  });

  it('counts visible, in-flight and delayed messages separately', async () => {
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

  it('ends a long poll with the first available messages', async () => {
    await using queue = await openQueue();
    const polling = queue.receive(10, 20);

    await queue.send('a');

    expect((await polling).map(({ Body }) => Body)).toEqual(['a']);
  });

  it.each([
    ['of more than 1 MiB in bytes', 'é'.repeat(524_289), 'InvalidParameterValue'],
    ['with a null character', 'a\0', 'InvalidMessageContents'],
    ['with U+FFFE', 'a\uFFFE', 'InvalidMessageContents'],
    ['with half of a pair', 'a\uD800', 'InvalidMessageContents'],
  ])('refuses a message %s, alone and in a batch', async (_, MessageBody, code) => {
    await using queue = await openQueue();
    const good = { Id: 'good', MessageBody: 'good' };

    const alone = queue.client.send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody }));
    await expect(alone).rejects.toMatchObject({ name: code });

    const isLarge = MessageBody.length > 100;
    const Entries = [{ Id: 'bad', MessageBody }, ...(isLarge ? [] : [good])];
    const batch = queue.client.send(new SendMessageBatchCommand({ QueueUrl: queue.url, Entries }));
    if (isLarge) await expect(batch).rejects.toMatchObject({ name: 'BatchRequestTooLong' });
    else expect((await batch).Failed).toMatchObject([{ Id: 'bad', Code: code, SenderFault: true }]);
  });

  it('accepts a message of 1 MiB in bytes', async () => {
    await using queue = await openQueue();

    await queue.send('é'.repeat(524_288));

    expect(await queue.countVisible()).toBe(1);
  });

  it('refuses a batch of more than 1 MiB in bytes', async () => {
    await using queue = await openQueue();
    const Entries = ['a', 'b'].map((Id) => ({ Id, MessageBody: 'é'.repeat(262_145) }));

    const sent = queue.client.send(new SendMessageBatchCommand({ QueueUrl: queue.url, Entries }));

    await expect(sent).rejects.toMatchObject({ name: 'BatchRequestTooLong' });
    expect(await queue.countVisible()).toBe(0);
  });

  it('refuses to hide a message for more than 12 hours after its receive', async () => {
    await using queue = await openQueue();
    await queue.send('a');
    await queue.send('b');
    // A receive returns at most as many as asked for, not always all that are there.
    const [first] = await queue.receive(1);
    const [second] = await queue.receive(1);

    const changed = queue.changeVisibility(first, 43_200);

    await expect(changed).rejects.toMatchObject({
      name: 'InvalidParameterValue',
      message: expect.stringContaining(
        'Total VisibilityTimeout for the message is beyond the limit [43200 seconds]',
      ) as unknown,
    });
    await queue.changeVisibility(second, 43_100);
  });

  it('refuses to hide a message that was deleted', async () => {
    await using queue = await openQueue();
    await queue.send('a');
    const [message] = await queue.receive(1);
    await queue.delete(message);

    await expect(queue.changeVisibility(message, 10)).rejects.toMatchObject({
      name: 'InvalidParameterValue',
      message: expect.stringContaining('Message does not exist') as unknown,
    });
  });

  it('keeps a message that is deleted by the receipt of an earlier receive', async () => {
    await using queue = await openQueue();
    await queue.send('a');
    const [first] = await queue.receive(1);
    await queue.changeVisibility(first, 0);
    const [second] = await queue.receive(1);

    await queue.delete(first);

    await queue.changeVisibility(second, 0);
    expect((await queue.receive(1)).map(({ Body }) => Body)).toEqual(['a']);
  });

  it('keeps the tracing header of the request that sent a message', async () => {
    await using queue = await openQueue();
    const traced = 'Root=1-5759e988-bd862e3fe1be46a994272793;Lineage=a87bd80c:1';
    queue.client.middlewareStack.add(
      (next) => (args) => {
        Object.assign(Object(args.request).headers as object, { 'X-Amzn-Trace-Id': traced });
        return next(args);
      },
      { step: 'build' },
    );

    await queue.send('alone');
    await queue.client.send(
      new SendMessageBatchCommand({
        QueueUrl: queue.url,
        Entries: [{ Id: 'a', MessageBody: 'in a batch' }],
      }),
    );

    const received = await queue.receive(10);
    expect(received.map(({ Attributes }) => Attributes?.AWSTraceHeader)).toEqual([traced, traced]);
  });
});

async function openQueue({ maxReceiveCount = 100 } = {}) {
  const emulated = await openEmulators({ maxReceiveCount });
  const { sqs: client, queueUrl: url } = emulated;
  return {
    client,
    url,
    deadUrl: url.replace(/work$/, 'dead'),
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
    async changeVisibility(message: Message | undefined, VisibilityTimeout: number) {
      const ReceiptHandle = message?.ReceiptHandle;
      await client.send(
        new ChangeMessageVisibilityCommand({ QueueUrl: url, ReceiptHandle, VisibilityTimeout }),
      );
    },
    async delete(message: Message | undefined) {
      const ReceiptHandle = message?.ReceiptHandle;
      await client.send(new DeleteMessageCommand({ QueueUrl: url, ReceiptHandle }));
    },
    async countVisible() {
      const AttributeNames = ['ApproximateNumberOfMessages' as const];
      const { Attributes } = await client.send(
        new GetQueueAttributesCommand({ QueueUrl: url, AttributeNames }),
      );
      return Number(Attributes?.ApproximateNumberOfMessages);
    },
    [Symbol.asyncDispose]: () => emulated.end(),
  };
}
