import { randomUUID } from 'node:crypto';
import type { WorkPartOptions } from '@thrice/core';

/** A part without a limit of time, for a request that is delivered for the first time. */
export function workPartOptions(parts: Partial<WorkPartOptions> = {}): WorkPartOptions {
  return {
    owner: randomUUID(),
    requestId: randomUUID(),
    isRedelivered: false,
    isOutOfTime: () => false,
    ...parts,
  };
}
