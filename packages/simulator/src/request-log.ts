import { appendFileSync, closeSync, openSync } from 'node:fs';
import type { FaultKind } from './load-faults.ts';
import type { PromptArm } from './question-text.ts';

/** One line of the request log, written when a request ends for any reason. */
export interface RequestLogEntry {
  /** When the request ended, ISO-8601 UTC. */
  readonly at: string;
  /** The cell key header as received. */
  readonly cell: string | null;
  readonly model: string | null;
  readonly arm: PromptArm | null;
  /** First 16 hex digits of the question text's SHA-256. */
  readonly question: string | null;
  /** HTTP status; null if no headers were sent. */
  readonly status: number | null;
  readonly fault: FaultKind | null;
  /** True only if the full body of a real answer was sent. */
  readonly ok: boolean;
  /** Present if the connection closed before the response was complete, and not because of a fault. */
  readonly aborted?: true;
}

/** Appends entries in order. */
export interface RequestLog {
  append(entry: RequestLogEntry): void;
  /** Writes the remaining entries. @throws The first write error, if there was one. */
  close(): void;
}

/**
 * Opens a JSONL log for appending.
 *
 * The lines of one turn of the event loop are written together, synchronously. Later turns find them in
 * the file, and a killed server loses at most the lines of its last turn.
 */
export function openRequestLog(path: string): RequestLog {
  const file = openSync(path, 'a');
  let buffered: string[] = [];
  let failure: Error | undefined;

  function flush(): void {
    if (buffered.length === 0) return;
    const text = buffered.join('');
    buffered = [];
    try {
      appendFileSync(file, text);
    } catch (error) {
      // The request was already answered; close() reports the error.
      failure ??= error instanceof Error ? error : new Error(String(error));
    }
  }

  return {
    append(entry) {
      if (buffered.length === 0) setImmediate(flush);
      buffered.push(`${JSON.stringify(entry)}\n`);
    },
    close() {
      flush();
      closeSync(file);
      if (failure !== undefined) throw failure;
    },
  };
}
