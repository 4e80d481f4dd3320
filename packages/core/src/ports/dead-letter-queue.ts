import type { DlqMessage } from '../domain/dlq-message.ts';

/**
 * Takes the messages of failed cells, for somebody to look at and to replay.
 *
 * **Delivery.** At least once: a cell may have several messages, which are one to whoever reads them.
 */
export interface DeadLetterQueue {
  send(message: DlqMessage): Promise<void>;
}
