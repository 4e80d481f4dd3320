import type { CallEnd, Governor, Permit } from '@thrice/core';
import { aUsage } from './builders.ts';

/** A permit that is returned, as that of a failed call, when it is disposed of. */
export type HeldPermit = Permit & Disposable;

/** Takes a permit of a lane. */
export async function takePermit(
  governor: Governor,
  lane: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<HeldPermit> {
  const canWait = () => true;
  const grant = await governor.grant({
    group: 'demo',
    lane,
    model: 'm',
    inputTokens: 10,
    limits: { requestsPerMinute: null, tokensPerMinute: null },
    maxConcurrency: null,
    estimatedTokens: null,
    canWait,
    signal,
  });
  if (grant.kind !== 'granted') throw new Error(`expected a permit of ${lane}`);
  const { permit } = grant;
  return { ...permit, [Symbol.dispose]: () => void permit.settle({ kind: 'failed' }) };
}

/** The end of a call that the vendor answered. */
export const answered: CallEnd = { kind: 'answered', usage: aUsage(), rateLimits: {} };

/** The end of a call that the vendor refused because of a rate limit. */
export function refused(retryAfterMs?: number, reason = '429 too many requests'): CallEnd {
  return { kind: 'refused', retryAfterMs, rateLimits: {}, reason };
}
