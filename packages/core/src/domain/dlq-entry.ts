import type { CellTask } from './cell-task.ts';
import type { CellError } from './error-code.ts';

interface Message {
  /** Unique within the DLQ. */
  readonly messageId: string;
  /** When it was sent, ISO-8601 UTC; null if unknown. */
  readonly sentAt: string | null;
}

/** A message that a worker sent for a failed cell. A cell may have several. */
export interface FailureEntry extends Message {
  readonly kind: 'message';
  readonly lane: string;
  readonly task: CellTask;
  readonly error: CellError;
}

/**
 * A task that its queue moved to the DLQ after too many receives, without a report from any worker.
 *
 * `sentAt` is when the task was sent, not when it was moved.
 */
export interface RedrivenTaskEntry extends Message {
  readonly kind: 'task';
  readonly task: CellTask;
  /** The lane of the queue it came from; undefined if that queue is unknown or not a lane's. */
  readonly lane: string | undefined;
}

/** An entry that is neither a message nor a task, or has another version. */
export interface UnreadableDlqEntry extends Message {
  readonly kind: 'unreadable';
  /** What is wrong with it, without quoting its content. */
  readonly problem: string;
  readonly body: string;
}

/** A DLQ entry that belongs to a cell. */
export type CellDlqEntry = FailureEntry | RedrivenTaskEntry;
/** An entry of the DLQ. */
export type DlqEntry = CellDlqEntry | UnreadableDlqEntry;

/** Returns the error that put a cell in the DLQ. */
export function errorOfEntry(entry: CellDlqEntry): CellError {
  if (entry.kind === 'message') return entry.error;
  return {
    class: 'internal',
    code: 'worker-died',
    message: 'the task was received too many times and no worker reported a result',
  };
}
