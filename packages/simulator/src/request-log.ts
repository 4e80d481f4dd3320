import { appendFileSync, closeSync, openSync } from 'node:fs';
import type { FaultKind } from './load-faults.ts';
import type { Arm } from './question-text.ts';

/** One line of the request log, written when the request has ended, however it ended. */
export interface RequestLogEntry {
  /** When the request ended, ISO-8601 UTC. */
  readonly at: string;
  /** The cell key header as received. */
  readonly cell: string | null;
  readonly model: string | null;
  readonly arm: Arm | null;
  /** First 16 hex digits of the question text's SHA-256. */
  readonly question: string | null;
  /** HTTP status; null if not even headers were sent. */
  readonly status: number | null;
  readonly fault: FaultKind | null;
  /** True only once the full body of a real answer has been sent. */
  readonly ok: boolean;
  /** Present if the connection ended before the response did, and not by a fault. */
  readonly aborted?: true;
}

/** Appends entries in order. */
export interface RequestLog {
  append(entry: RequestLogEntry): void;
  /** Writes what is left. @throws the first write error, if any. */
  close(): void;
}

/**
 * Opens a JSONL log for appending.
 *
 * Lines of one turn of the event loop are written together, synchronously: a later turn finds them
 * in the file, and a killed server loses at most the turn it died in.
 */
export function openRequestLog(path: string): RequestLog {
  const file = openSync(path, 'a');
  let waiting: string[] = [];
  let failure: Error | undefined;

  function flush(): void {
    if (waiting.length === 0) return;
    const text = waiting.join('');
    waiting = [];
    try {
      appendFileSync(file, text);
    } catch (error) {
      // The request is answered already; close() tells.
      failure ??= error instanceof Error ? error : new Error(String(error));
    }
  }

  return {
    append(entry) {
      if (waiting.length === 0) setImmediate(flush);
      waiting.push(`${JSON.stringify(entry)}\n`);
    },
    close() {
      flush();
      closeSync(file);
      if (failure !== undefined) throw failure;
    },
  };
}
