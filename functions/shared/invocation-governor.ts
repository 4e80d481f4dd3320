import type { CallEnd, Governor } from '@thrice/core';

/** Wait of a refused cell without a `retryAfterMs` of the vendor, ms: between one and two times this. */
const REFUSED_MS = 1_000;

/**
 * Grants a permit for each call at once, because the subscription limits concurrency.
 *
 * A refusal delays only its own cell, for as long as the vendor asks.
 */
export const invocationGovernor: Governor = {
  grant: async () => ({ kind: 'granted', permit: { waitMs: 0, settle } }),
};

async function settle(end: CallEnd): Promise<number> {
  if (end.kind !== 'refused') return 0;
  return end.retryAfterMs ?? REFUSED_MS + REFUSED_MS * Math.random();
}
