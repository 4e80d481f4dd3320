import type { Clock } from '@thrice/core';
import type { Terminal } from '../shell/terminal.ts';

/** Interval between two lines, ms. */
const INTERVAL_MS = 5_000;

/** Returns what prints a line of progress to stderr, at most one every few seconds. */
export function reportSlowly(terminal: Terminal, clock: Clock): (describe: () => string) => void {
  let reportedAtMs = clock.monotonicMs();
  return (describe) => {
    const monotonicMs = clock.monotonicMs();
    if (monotonicMs - reportedAtMs < INTERVAL_MS) return;
    reportedAtMs = monotonicMs;
    terminal.error(describe());
  };
}
