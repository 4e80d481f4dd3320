import {
  type Clock,
  callsInFlight,
  concurrencyLimit,
  effectiveRate,
  type Lane,
  type LaneLimits,
  type LimitKind,
  usedPerMinute,
} from '@thrice/core';
import { accountOf } from '@thrice/local';
import type { LaneLimitStatus, LimitUse } from '../engine/group-status.ts';

/** Reads what is believed of the limits of a lane, and how much of them all processes use; null if none has used it. */
export async function readLaneLimits(
  { laneLimits, clock }: { readonly laneLimits: LaneLimits; readonly clock: Clock },
  lane: Lane | undefined,
): Promise<LaneLimitStatus | null> {
  const limit = lane === undefined ? undefined : await laneLimits.read(accountOf(lane));
  if (limit === undefined) return null;
  const nowMs = clock.now();
  const describeRate = (kind: LimitKind): LimitUse => {
    const rate = effectiveRate(limit, kind, nowMs);
    return {
      limit: rate === null ? null : Math.round(rate.perMinute),
      source: rate?.source ?? null,
      used: Math.round(usedPerMinute(limit, kind, nowMs)),
    };
  };
  const most = concurrencyLimit(limit, nowMs);
  const { heldUntilMs, reason } = limit;
  return {
    requestsPerMinute: describeRate('requests'),
    tokensPerMinute: describeRate('tokens'),
    concurrency: {
      limit: most,
      source: most === null ? null : 'spec',
      used: callsInFlight(limit, nowMs),
    },
    held: heldUntilMs > nowMs ? { until: clock.toIso(heldUntilMs), reason } : null,
  };
}
