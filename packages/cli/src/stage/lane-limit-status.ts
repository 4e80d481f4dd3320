import {
  type Clock,
  isLimited,
  type LanePaces,
  type LaneSlots,
  type LimitKind,
  paceRate,
  slotsInForce,
  usedRatio,
} from '@thrice/core';
import type { LaneLimitStatus, LimitUse } from '../engine/group-status.ts';

const UNKNOWN: LimitUse = { limit: null, source: null, used: null };

/** The stores and the clock that tell the limits of the lanes of a stage. */
export interface StageLimits {
  readonly lanePaces: Pick<LanePaces, 'read'>;
  readonly laneSlots: Pick<LaneSlots, 'read'>;
  readonly clock: Clock;
}

/** Reads what the workers of a stage believe of the limits of a lane; null for one that is not limited. */
export async function readStageLimits(
  stage: StageLimits,
  lane: string,
): Promise<LaneLimitStatus | null> {
  const rates = await readPaceLimits(stage, lane);
  const use = await stage.laneSlots.read(lane);
  const slots = use && slotsInForce(use, stage.clock.now());
  if (slots === undefined) return rates;
  const none = { requestsPerMinute: UNKNOWN, tokensPerMinute: UNKNOWN, held: null };
  const concurrency = { limit: slots.limit, source: 'spec', used: slots.inUse } as const;
  return { ...none, ...rates, concurrency };
}

async function readPaceLimits(
  { lanePaces, clock }: StageLimits,
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
