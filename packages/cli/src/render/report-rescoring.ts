import { type Clock, countPlanned, type FinalizeStores, type GroupHeader } from '@thrice/core';
import type { Terminal } from '../shell/terminal.ts';

/** Interval between two progress lines of a rescore, ms. */
const REPORT_INTERVAL_MS = 5_000;

/** Returns an observer that prints the progress of a rescore to stderr every few seconds. */
export function reportRescoring(
  header: GroupHeader,
  terminal: Terminal,
  clock: Clock,
): NonNullable<FinalizeStores['onRow']> {
  // The files of the earlier grading, then those of the new one.
  const planned = 2 * countPlanned(header);
  let rowCount = 0;
  let reportedAtMs = clock.monotonicMs();
  return () => {
    rowCount += 1;
    const monotonicMs = clock.monotonicMs();
    if (monotonicMs - reportedAtMs < REPORT_INTERVAL_MS) return;
    reportedAtMs = monotonicMs;
    terminal.error(`${rowCount} of at most ${planned} rows written`);
  };
}
