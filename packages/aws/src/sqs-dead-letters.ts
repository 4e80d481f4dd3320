import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { DeadLetter, DeadLetters } from '@thrice/core';
import { mapSdkError } from './map-sdk-error.ts';
import { toMessageText } from './message-text.ts';

/** Letters to the stage's dead-letter queue. */
export class SqsDeadLetters implements DeadLetters {
  readonly #client: SQSClient;
  readonly #queueUrl: string;

  constructor(init: { readonly client: SQSClient; readonly queueUrl: string }) {
    this.#client = init.client;
    this.#queueUrl = init.queueUrl;
  }

  async send(letter: DeadLetter): Promise<void> {
    const MessageBody = toMessageText(letter);
    try {
      await this.#client.send(new SendMessageCommand({ QueueUrl: this.#queueUrl, MessageBody }));
    } catch (error) {
      throw mapSdkError(error, 'dead-letter queue');
    }
  }
}
