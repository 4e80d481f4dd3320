import { type DeadLetterQueue, type DlqMessage, dlqMessageSchema, limits } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCellTask, aDlqMessage } from '../support/builders.ts';

/** DLQ messages that nobody reads but the test. */
export interface DeadLetterQueueUnderTest extends AsyncDisposable {
  readonly deadLetterQueue: DeadLetterQueue;
  /** Up to ten messages, as they travel. */
  read(): Promise<readonly unknown[]>;
}

/** Makes DLQ messages, none sent. */
export type OpenDeadLetterQueue = () => Promise<DeadLetterQueueUnderTest>;

/** What the `DeadLetterQueue` port promises, sentence by sentence. */
export function describeDeadLetterQueueContract(name: string, open: OpenDeadLetterQueue): void {
  describe(`DeadLetterQueue contract: ${name}`, () => {
    it.each<[string, DlqMessage]>([
      ['a plain one', aDlqMessage()],
      ['one of a rerun', aDlqMessage({ task: aCellTask({ generation: 3 }) })],
      [
        'one of an id of any form',
        aDlqMessage({ task: aCellTask({ id: 'a\uFFFEb\uFFFFc\u0001' }) }),
      ],
      [
        'one of the longest error',
        aDlqMessage({
          error: {
            class: 'internal',
            code: 'worker-died',
            message: '\u0001'.repeat(limits.errorTextChars),
          },
        }),
      ],
    ])('keeps a message as it was sent: %s', async (_, message) => {
      await using store = await open();

      await store.deadLetterQueue.send(message);

      const messages = await store.read();
      expect(messages.map((each) => dlqMessageSchema.parse(each))).toEqual([message]);
    });

    it('keeps several messages of a cell, and those of others', async () => {
      await using store = await open();
      const other = aDlqMessage({ lane: 'openai', task: aCellTask({ id: 'q2' }) });

      for (const message of [aDlqMessage(), other, aDlqMessage()]) {
        await store.deadLetterQueue.send(message);
      }

      const messages = await store.read();
      const ids = messages.map((each) => dlqMessageSchema.parse(each).task.id);
      expect(ids.toSorted()).toEqual(['q1', 'q1', 'q2']);
    });
  });
}
