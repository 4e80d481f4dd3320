import { type DlqEntry, errorOfEntry } from '../domain/dlq-entry.ts';
import { answeringConfigOf } from '../domain/grade-cell.ts';
import type { ErrorClass } from '../errors.ts';
import type { DlqScan } from '../ports/dead-letter-queue.ts';

/** Selects DLQ messages. An absent field matches every message, and a config also those of the cells that grade it. */
export interface DlqFilter {
  readonly runs?: ReadonlySet<string> | undefined;
  readonly config?: string | undefined;
  readonly errorClass?: ErrorClass | undefined;
}

/** A scan of the DLQ, a filter for its messages, and a signal that stops the scan. */
export interface DlqSelection {
  readonly scan: DlqScan;
  readonly filter: DlqFilter;
  readonly stop: AbortSignal;
}

/** Whether an entry matches. Unreadable entries have no run or config, and their class is `internal`. */
export function matchesFilter(entry: DlqEntry, { runs, config, errorClass }: DlqFilter): boolean {
  const matchesClass = (entryClass: ErrorClass) =>
    errorClass === undefined || entryClass === errorClass;
  if (entry.kind === 'unreadable') {
    return runs === undefined && config === undefined && matchesClass('internal');
  }
  return (
    (runs?.has(entry.task.run) ?? true) &&
    (config === undefined ||
      [entry.task.config, answeringConfigOf(entry.task.config)].includes(config)) &&
    matchesClass(errorOfEntry(entry).class)
  );
}
