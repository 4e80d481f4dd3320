import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';

/** The exit code of a process as a shell tells it: 128 and more when a signal ended it. */
export async function endOf(child: ChildProcess): Promise<number> {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  if (code !== null) return code;
  return 128 + (signal === null ? 0 : constants.signals[signal]);
}
