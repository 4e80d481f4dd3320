import type { Closure } from '@thrice/core';

/** A closure as a note beside the work that goes on. */
export function describeClosure({ subject, error, resetAt }: Closure): string {
  const until = resetAt === null ? '' : `, opens again ${resetAt}`;
  return `closed: ${subject} (${error.class}: ${error.message})${until}`;
}

/** A closure as the reason why work has ended for now. */
export function describePause({ subject, error, resetAt }: Closure): string {
  const until = resetAt === null ? '' : ` (opens again ${resetAt})`;
  return `paused: ${subject} is closed: ${error.message}${until}`;
}
