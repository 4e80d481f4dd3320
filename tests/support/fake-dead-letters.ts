import type { DeadLetter, DeadLetters } from '@thrice/core';

/** Dead letters that are kept. */
export class FakeDeadLetters implements DeadLetters {
  /** Every letter, in order. */
  readonly sent: DeadLetter[] = [];
  /** Runs before a letter is kept; what it throws, the sender gets. */
  onSend: () => void = () => undefined;

  async send(letter: DeadLetter): Promise<void> {
    this.onSend();
    this.sent.push(letter);
  }
}
