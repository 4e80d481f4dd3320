import { type Clock, countPlanned, type FinalizeStores, type GroupHeader } from '@thrice/core';
import type { Terminal } from '../shell/terminal.ts';
import { reportSlowly } from './report-slowly.ts';

/** Returns an observer that prints the progress of a rescore to stderr every few seconds. */
export function reportRescoring(
  header: GroupHeader,
  terminal: Terminal,
  clock: Clock,
): NonNullable<FinalizeStores['onRow']> {
  // The files of the earlier grading, then those of the new one.
  const planned = 2 * countPlanned(header);
  let rowCount = 0;
  const report = reportSlowly(terminal, clock);
  return () => {
    rowCount += 1;
    report(() => `${rowCount} of at most ${planned} rows written`);
  };
}
