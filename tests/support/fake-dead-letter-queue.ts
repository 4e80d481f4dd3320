import type { DeadLetterQueue, DlqMessage } from '@thrice/core';

/** An in-memory DLQ that records the messages sent to it. */
export class FakeDeadLetterQueue implements DeadLetterQueue {
  /** Every message sent, in order. */
  readonly sent: DlqMessage[] = [];
  /** Runs before a message is recorded. If it throws, `send` rejects. */
  onSend: () => void = () => undefined;

  async send(message: DlqMessage): Promise<void> {
    this.onSend();
    this.sent.push(message);
  }
}
