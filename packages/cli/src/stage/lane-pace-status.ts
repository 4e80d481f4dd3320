import {
  type Clock,
  isLimited,
  type LanePaces,
  type LimitKind,
  paceRate,
  usedRatio,
} from '@thrice/core';
import type { LaneLimitStatus, LimitUse } from '../engine/group-status.ts';

const UNKNOWN: LimitUse = { limit: null, source: null, used: null };

/** Reads what the workers of a stage believe of the limits of a lane; null for one that is not limited. */
export async function readPaceLimits(
  { lanePaces, clock }: { readonly lanePaces: Pick<LanePaces, 'read'>; readonly clock: Clock },
  lane: string,
): Promise<LaneLimitStatus | null> {
  const pace = await lanePaces.read(lane);
  const nowMs = clock.now();
  if (!isLimited(pace, nowMs)) return null;
  const ratio = usedRatio(pace, nowMs);
  const describeRate = (kind: LimitKind): LimitUse => {
    const rate = paceRate(pace, kind, nowMs);
    if (rate === null) return UNKNOWN;
    const { perMinute, source } = rate;
    const used = kind === 'requests' && ratio !== null ? Math.round(ratio * perMinute) : null;
    return { limit: Math.round(perMinute), source, used };
  };
  const isHeld = pace.heldUntilMs > nowMs;
  return {
    requestsPerMinute: describeRate('requests'),
    tokensPerMinute: describeRate('tokens'),
    concurrency: UNKNOWN,
    held: isHeld ? { until: clock.toIso(pace.heldUntilMs), reason: null } : null,
  };
}
