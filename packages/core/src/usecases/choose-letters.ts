import { type DeadLetterEntry, errorOfEntry } from '../domain/dead-letter-entry.ts';
import type { ErrorClass } from '../errors.ts';
import type { DeadLetterScan } from '../ports/dead-letter-scan.ts';

/** Which dead letters are meant; an absent part means any. */
export interface LetterFilter {
  readonly runs?: ReadonlySet<string> | undefined;
  readonly config?: string | undefined;
  readonly errorClass?: ErrorClass | undefined;
}

/** A look through the dead letters, what of them is meant, and when to stop. */
export interface LetterOrder {
  readonly scan: DeadLetterScan;
  readonly filter: LetterFilter;
  readonly stop: AbortSignal;
}

/** Whether an entry is meant. What is unreadable is of no run and no config, and of class `defect`. */
export function matchesFilter(
  entry: DeadLetterEntry,
  { runs, config, errorClass }: LetterFilter,
): boolean {
  const isOfClass = (own: ErrorClass) => errorClass === undefined || own === errorClass;
  if (entry.kind === 'unreadable') {
    return runs === undefined && config === undefined && isOfClass('defect');
  }
  return (
    (runs?.has(entry.task.run) ?? true) &&
    (config === undefined || entry.task.config === config) &&
    isOfClass(errorOfEntry(entry).class)
  );
}
