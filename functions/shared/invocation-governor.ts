import type { CallEnd, Governor } from '@thrice/core';

/** How long a refused cell waits where the vendor does not say: this, and up to as much again, ms. */
const REFUSED_MS = 1_000;

/**
 * Permits for the one call of an invocation: always granted, for the subscription limits concurrency.
 *
 * A refusal slows down nobody but its own cell, which goes back for as long as the vendor asks.
 */
export const invocationGovernor: Governor = {
  grant: async () => ({ kind: 'granted', permit: { waitMs: 0, settle } }),
};

async function settle(end: CallEnd): Promise<number> {
  if (end.kind !== 'refused') return 0;
  return end.retryAfterMs ?? REFUSED_MS + REFUSED_MS * Math.random();
}
