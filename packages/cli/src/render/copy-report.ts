import {
  type Clock,
  type CopyCounts,
  type CopyOrder,
  countPlanned,
  type GroupHeader,
} from '@thrice/core';
import type { Terminal } from '../shell/terminal.ts';

/** How often a copy says how far it is, ms. */
const SAY_MS = 5_000;

/** Options of `thrice pull` and `thrice push`. */
export interface CopyOptions {
  readonly stage: string;
  readonly dir: string;
  readonly json?: boolean;
}

/** Says on stderr how far a copy is, now and then. */
export function reportCopying(
  header: GroupHeader,
  terminal: Terminal,
  clock: Clock,
): NonNullable<CopyOrder['observe']> {
  const planned = countPlanned(header);
  let saidAtMs = clock.now();
  return ({ cells, calls }) => {
    const nowMs = clock.now();
    // Also when the clock was set back: waiting for it to catch up would look like a standstill.
    if (Math.abs(nowMs - saidAtMs) < SAY_MS) return;
    saidAtMs = nowMs;
    terminal.error(`${cells} of at most ${planned} cells, ${calls} new calls`);
  };
}

/**
 * Prints what a copy did.
 *
 * @param what - `pulled GROUP from stage NAME`
 */
export function printCounts(
  what: string,
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
    `${what}: ${cells} cells, of which ${copied} copied with ${calls} new calls and ${kept} there already`,
  );
}
