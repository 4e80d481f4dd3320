import type { CellError } from './cell.ts';
import type { CellTask } from './cell-task.ts';

interface Message {
  /** Names the message within the DLQ messages. */
  readonly messageId: string;
  /** When it was sent, ISO-8601 UTC; null if unknown. */
  readonly sentAt: string | null;
}

/** The message of a failed cell, sent by its worker; one cell may have several. */
export interface FailureEntry extends Message {
  readonly kind: 'message';
  readonly lane: string;
  readonly task: CellTask;
  readonly error: CellError;
}

/**
 * A task that its queue gave up after too many receives: no worker lived to report on its cell.
 *
 * `sentAt` is when the task was sent, not when it was given up.
 */
export interface RedrivenTaskEntry extends Message {
  readonly kind: 'task';
  readonly task: CellTask;
  /** The lane of the queue that gave it up; undefined if that is no lane's, or unknown. */
  readonly lane: string | undefined;
}

/** Neither a message nor a task, or one of another version. */
export interface UnreadableDlqEntry extends Message {
  readonly kind: 'unreadable';
  /** What is wrong with it; never what it says. */
  readonly problem: string;
  readonly body: string;
}

/** What lies in the DLQ for a cell. */
export type CellDlqEntry = FailureEntry | RedrivenTaskEntry;
/** What lies in the DLQ. */
export type DlqEntry = CellDlqEntry | UnreadableDlqEntry;

/** Why a cell is in the DLQ. */
export function errorOfEntry(entry: CellDlqEntry): CellError {
  if (entry.kind === 'message') return entry.error;
  return {
    class: 'internal',
    code: 'worker-died',
    message: 'its queue gave the task up: no worker lived to report on it',
  };
}
