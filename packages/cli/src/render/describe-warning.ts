import type { WarningCode } from '@thrice/core';

/** The line that shows a warning: `warning: [no-target] ...`. */
export function describeWarning(code: WarningCode, message: string): string {
  return `warning: [${code}] ${message}`;
}
