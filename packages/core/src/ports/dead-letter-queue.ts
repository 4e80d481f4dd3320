import type { DlqMessage } from '../domain/dlq-message.ts';

/**
 * Receives a message for each failed cell, to be inspected and replayed.
 *
 * **Delivery.** At least once. A cell may have several messages; readers treat them as one.
 */
export interface DeadLetterQueue {
  send(message: DlqMessage): Promise<void>;
}
