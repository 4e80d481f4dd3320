import { type DeadLetterQueue, type DlqMessage, dlqMessageSchema, limits } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCellTask, aDlqMessage } from '../support/builders.ts';

/** A fresh dead-letter queue that only the test reads. */
export interface DeadLetterQueueUnderTest extends AsyncDisposable {
  readonly deadLetterQueue: DeadLetterQueue;
  /** Reads up to ten messages as they are transmitted. */
  read(): Promise<readonly unknown[]>;
}

/** Opens a fresh, empty dead-letter queue. */
export type OpenDeadLetterQueue = () => Promise<DeadLetterQueueUnderTest>;

/** Tests every promise of the `DeadLetterQueue` port. */
export function describeDeadLetterQueueContract(name: string, open: OpenDeadLetterQueue): void {
  describe(`DeadLetterQueue contract: ${name}`, () => {
    it.each<[string, DlqMessage]>([
      ['a first generation', aDlqMessage()],
      ['a later generation', aDlqMessage({ task: aCellTask({ generation: 3 }) })],
      [
        'an id with special characters',
        aDlqMessage({ task: aCellTask({ id: 'a\uFFFEb\uFFFFc\u0001' }) }),
      ],
      [
        'an error text of maximum length',
        aDlqMessage({
          error: {
            class: 'internal',
            code: 'worker-died',
            message: '\u0001'.repeat(limits.errorTextChars),
          },
        }),
      ],
    ])('preserves a sent message with %s', async (_, message) => {
      await using store = await open();

      await store.deadLetterQueue.send(message);

      const messages = await store.read();
      expect(messages.map((each) => dlqMessageSchema.parse(each))).toEqual([message]);
    });

    it('keeps multiple messages of a cell and messages of other cells', async () => {
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
