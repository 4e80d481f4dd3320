import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';

/** Waits for a process to exit. Returns its exit code, or 128 plus the number of the signal that ended it. */
export async function exitCodeOf(child: ChildProcess): Promise<number> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (code !== null) return code;
  return 128 + (signal === null ? 0 : constants.signals[signal]);
}
