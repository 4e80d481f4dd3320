import { type DlqEntry, errorOfEntry } from '../domain/dlq-entry.ts';
import type { ErrorClass } from '../errors.ts';
import type { DlqScan } from '../ports/dlq-scan.ts';

/** Which DLQ messages are meant; an absent part means any. */
export interface DlqFilter {
  readonly runs?: ReadonlySet<string> | undefined;
  readonly config?: string | undefined;
  readonly errorClass?: ErrorClass | undefined;
}

/** A look through the DLQ, what of them is meant, and when to stop. */
export interface DlqSelection {
  readonly scan: DlqScan;
  readonly filter: DlqFilter;
  readonly stop: AbortSignal;
}

/** Whether an entry is meant. What is unreadable is of no run and no config, and of class `internal`. */
export function matchesFilter(entry: DlqEntry, { runs, config, errorClass }: DlqFilter): boolean {
  const isOfClass = (own: ErrorClass) => errorClass === undefined || own === errorClass;
  if (entry.kind === 'unreadable') {
    return runs === undefined && config === undefined && isOfClass('internal');
  }
  return (
    (runs?.has(entry.task.run) ?? true) &&
    (config === undefined || entry.task.config === config) &&
    isOfClass(errorOfEntry(entry).class)
  );
}
