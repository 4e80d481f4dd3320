import { closeSync, openSync, writeSync } from 'node:fs';

/**
 * The log file with the functions' output and platform events.
 *
 * Platform events are JSON lines like Lambda's own: `{"time", "type": "platform.report", ...}`.
 */
export interface FunctionLog extends Disposable {
  readonly path: string;
  /** The stdout and stderr of functions' processes. */
  readonly fileDescriptor: number;
  write(type: string, record: Readonly<Record<string, unknown>>): void;
}

export function openFunctionLog(path: string): FunctionLog {
  const fileDescriptor = openSync(path, 'a');
  let isOpen = true;
  return {
    path,
    fileDescriptor,
    write(type, record) {
      if (!isOpen) return;
      const time = new Date().toISOString();
      writeSync(fileDescriptor, `${JSON.stringify({ time, type: `platform.${type}`, record })}\n`);
    },
    [Symbol.dispose]() {
      isOpen = false;
      closeSync(fileDescriptor);
    },
  };
}
