import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Whether a process of this host exists; a zombie does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
  return processState(pid) !== 'Z';
}

/** The host name and, where available, the process namespace: two containers may share a host name. */
export function hostIdentity(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

/** The state letter of a process on Linux. A zombie (`Z`) is dead although its pid still exists. */
export function processState(pid: number): string | undefined {
  return processFields(pid)?.[0];
}

/** When a process started, in ticks since boot, on Linux. Distinguishes processes that reuse a pid. */
export function processStart(pid: number): string | undefined {
  return processFields(pid)?.[19];
}

/** The fields of `/proc/<pid>/stat` from the third on. The second is a name with arbitrary characters. */
function processFields(pid: number): readonly string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
