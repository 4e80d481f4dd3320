import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { DeadLetterQueue, DlqMessage } from '@thrice/core';
import { mapSdkError } from '../map-sdk-error.ts';
import { toMessageText } from './message-text.ts';

/** Sends messages to the stage's dead-letter queue. */
export class SqsDeadLetterQueue implements DeadLetterQueue {
  readonly #client: SQSClient;
  readonly #queueUrl: string;

  constructor(init: { readonly client: SQSClient; readonly queueUrl: string }) {
    this.#client = init.client;
    this.#queueUrl = init.queueUrl;
  }

  async send(message: DlqMessage): Promise<void> {
    const MessageBody = toMessageText(message);
    try {
      await this.#client.send(new SendMessageCommand({ QueueUrl: this.#queueUrl, MessageBody }));
    } catch (error) {
      throw mapSdkError(error, 'dead-letter queue');
    }
  }
}
