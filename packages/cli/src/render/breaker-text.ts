import type { OpenBreaker } from '@thrice/core';

/** A open breaker as a note beside the work that goes on. */
export function describeOpenBreaker({ breakerKey, error, resetAt }: OpenBreaker): string {
  const until = resetAt === null ? '' : `, opens again ${resetAt}`;
  return `closed: ${breakerKey} (${error.class}: ${error.message})${until}`;
}

/** A open breaker as the reason why work has ended for now. */
export function describePause({ breakerKey, error, resetAt }: OpenBreaker): string {
  const until = resetAt === null ? '' : ` (opens again ${resetAt})`;
  return `paused: ${breakerKey} is closed: ${error.message}${until}`;
}
