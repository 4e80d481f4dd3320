import type { CellError } from './cell.ts';
import type { CellTask } from './cell-task.ts';

interface Message {
  /** Names the message within the dead letters. */
  readonly messageId: string;
  /** When it was sent, ISO-8601 UTC; null if unknown. */
  readonly sentAt: string | null;
}

/** The letter of a failed cell, sent by its worker; one cell may have several. */
export interface LetterEntry extends Message {
  readonly kind: 'letter';
  readonly lane: string;
  readonly task: CellTask;
  readonly error: CellError;
}

/**
 * A task that its queue gave up after too many receives: no worker lived to report on its cell.
 *
 * `sentAt` is when the task was sent, not when it was given up.
 */
export interface StrayTaskEntry extends Message {
  readonly kind: 'task';
  readonly task: CellTask;
  /** The lane of the queue that gave it up; undefined if that is no lane's, or unknown. */
  readonly lane: string | undefined;
}

/** Neither a letter nor a task, or one of another version. */
export interface UnreadableEntry extends Message {
  readonly kind: 'unreadable';
  /** What is wrong with it; never what it says. */
  readonly problem: string;
  readonly body: string;
}

/** What lies in the dead letters for a cell. */
export type CellEntry = LetterEntry | StrayTaskEntry;
/** What lies in the dead letters. */
export type DeadLetterEntry = CellEntry | UnreadableEntry;

/** Why a cell is in the dead letters. */
export function errorOfEntry(entry: CellEntry): CellError {
  if (entry.kind === 'letter') return entry.error;
  return {
    class: 'defect',
    code: 'worker-died',
    message: 'its queue gave the task up: no worker lived to report on it',
  };
}
