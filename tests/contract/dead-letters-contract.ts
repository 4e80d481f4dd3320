import { type DeadLetter, type DeadLetters, deadLetterSchema, limits } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { aCellTask, aDeadLetter } from '../support/builders.ts';

/** Dead letters that nobody reads but the test. */
export interface DeadLettersUnderTest extends AsyncDisposable {
  readonly deadLetters: DeadLetters;
  /** Up to ten letters, as they travel. */
  read(): Promise<readonly unknown[]>;
}

/** Makes dead letters, none sent. */
export type OpenDeadLetters = () => Promise<DeadLettersUnderTest>;

/** What the `DeadLetters` port promises, sentence by sentence. */
export function describeDeadLettersContract(name: string, open: OpenDeadLetters): void {
  describe(`DeadLetters contract: ${name}`, () => {
    it.each<[string, DeadLetter]>([
      ['a plain one', aDeadLetter()],
      ['one of a rerun', aDeadLetter({ task: aCellTask({ generation: 3 }) })],
      [
        'one of an id of any form',
        aDeadLetter({ task: aCellTask({ id: 'a\uFFFEb\uFFFFc\u0001' }) }),
      ],
      [
        'one of the longest error',
        aDeadLetter({
          error: {
            class: 'defect',
            code: 'worker-died',
            message: '\u0001'.repeat(limits.errorTextChars),
          },
        }),
      ],
    ])('keeps a letter as it was sent: %s', async (_, letter) => {
      await using store = await open();

      await store.deadLetters.send(letter);

      const letters = await store.read();
      expect(letters.map((each) => deadLetterSchema.parse(each))).toEqual([letter]);
    });

    it('keeps several letters of a cell, and those of others', async () => {
      await using store = await open();
      const other = aDeadLetter({ lane: 'openai', task: aCellTask({ id: 'q2' }) });

      for (const letter of [aDeadLetter(), other, aDeadLetter()]) {
        await store.deadLetters.send(letter);
      }

      const letters = await store.read();
      const ids = letters.map((each) => deadLetterSchema.parse(each).task.id);
      expect(ids.toSorted()).toEqual(['q1', 'q1', 'q2']);
    });
  });
}
