import type { DeadLetterQueue, DlqMessage } from '@thrice/core';

/** DLQ messages that are kept. */
export class FakeDeadLetterQueue implements DeadLetterQueue {
  /** Every message, in order. */
  readonly sent: DlqMessage[] = [];
  /** Runs before a message is kept; what it throws, the sender gets. */
  onSend: () => void = () => undefined;

  async send(message: DlqMessage): Promise<void> {
    this.onSend();
    this.sent.push(message);
  }
}
