import { DeleteMessageCommand, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';

/** Receives up to ten messages and hides them for a minute. */
export async function receiveMessages(
  client: SQSClient,
  queueUrl: string | undefined,
): Promise<readonly { readonly body: unknown; remove(): Promise<void> }[]> {
  const { Messages = [] } = await client.send(
    new ReceiveMessageCommand({
      QueueUrl: queueUrl,
      MaxNumberOfMessages: 10,
      VisibilityTimeout: 60,
    }),
  );
  return Messages.map(({ Body = '', ReceiptHandle }) => ({
    body: JSON.parse(Body) as unknown,
    remove: async () => {
      await client.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
    },
  }));
}
