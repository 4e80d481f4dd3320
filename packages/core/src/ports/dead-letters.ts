import type { DeadLetter } from '../domain/dead-letter.ts';

/**
 * Takes the letters of failed cells, for somebody to look at and to replay.
 *
 * **Delivery.** At least once: a cell may have several letters, which are one to whoever reads them.
 */
export interface DeadLetters {
  send(letter: DeadLetter): Promise<void>;
}
