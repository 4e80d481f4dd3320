import {
  type Clock,
  type CopyCounts,
  type CopyGroupOptions,
  countOf,
  countPlanned,
  type GroupHeader,
} from '@thrice/core';
import type { Terminal } from '../shell/terminal.ts';
import { reportSlowly } from './report-slowly.ts';

/** Options of `thrice pull` and `thrice push`. */
export interface CopyOptions {
  readonly stage: string;
  readonly dir: string;
  readonly json?: boolean;
}

/** Returns an observer that prints the progress of a copy to stderr every few seconds. */
export function reportCopying(
  header: GroupHeader,
  terminal: Terminal,
  clock: Clock,
): NonNullable<CopyGroupOptions['observe']> {
  const planned = countPlanned(header);
  const report = reportSlowly(terminal, clock);
  return ({ cells, calls }) =>
    report(() => `${cells} of at most ${planned} cells, ${countOf(calls, 'new call')}`);
}

/**
 * Prints what a copy did.
 *
 * @param action - What was done, as in `pulled GROUP from stage NAME`.
 */
export function printCounts(
  action: string,
  counts: CopyCounts,
  {
    terminal,
    group,
    isJson,
  }: { readonly terminal: Terminal; readonly group: string; readonly isJson: boolean },
): void {
  if (isJson) {
    terminal.print(JSON.stringify({ group, ...counts }, null, 2));
    return;
  }
  const { cells, copied, calls, kept } = counts;
  terminal.print(
    `${action}: ${countOf(cells, 'cell')} (${copied} copied with ${countOf(calls, 'new call')}, ${kept} already there)`,
  );
}
