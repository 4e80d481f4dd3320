import { HOLDER_AGE_MS, type LaneLimit, type LaneRate } from './lane-limit.ts';
import type { LaneReport, LaneShare } from './lane-report.ts';
import { countUse } from './lane-use.ts';
import { leaseRate } from './lease-rate.ts';
import { weighReport } from './limit-refusals.ts';
import { slotsOf } from './share-slots.ts';

/** Takes what a process reports into account, and leases it what it may use. */
export function exchangeShare(
  existing: LaneLimit,
  report: LaneReport,
  nowMs: number,
): { readonly limit: LaneLimit; readonly share: LaneShare } {
  const known = withStated(onPresentClock(existing, nowMs), report, nowMs);
  const limit = weighReport(
    countUse(withHolder(known, report, nowMs), report, nowMs),
    report,
    nowMs,
  );
  const slots = slotsOf(limit, report.owner, nowMs);
  const requests = leaseRate(limit, 'requests', report, nowMs);
  const tokens = leaseRate(limit, 'tokens', report, nowMs);
  const holder = limit.holders[report.owner];
  const { heldUntilMs, reason } = limit;
  return {
    limit: {
      ...limit,
      requests: requests.rate,
      tokens: tokens.rate,
      holders:
        holder === undefined
          ? limit.holders
          : { ...limit.holders, [report.owner]: { ...holder, slots } },
    },
    share: { heldUntilMs, reason, slots, requests: requests.block, tokens: tokens.block },
  };
}

function withHolder(limit: LaneLimit, report: LaneReport, nowMs: number): LaneLimit {
  const { owner, group, inUse, waiting, spec } = report;
  const slots = limit.holders[owner]?.slots ?? 0;
  const others = Object.entries(limit.holders).filter(
    ([name, { seenAtMs }]) => name !== owner && Math.abs(nowMs - seenAtMs) < HOLDER_AGE_MS,
  );
  const own = { group, seenAtMs: nowMs, inUse, waiting, slots, ...spec };
  const holders = [...others, [owner, own] as const].sort(([a], [b]) => (a < b ? -1 : 1));
  return { ...limit, holders: Object.fromEntries(holders) };
}

function withStated(limit: LaneLimit, { stated }: LaneReport, nowMs: number): LaneLimit {
  const note = (rate: LaneRate, perMinute: number | null): LaneRate =>
    perMinute === null ? rate : { ...rate, stated: { perMinute, atMs: nowMs } };
  return {
    ...limit,
    requests: note(limit.requests, stated.requests),
    tokens: note(limit.tokens, stated.tokens),
  };
}

/** Moves all times back with a clock that was set back: what was to come in a second would come in an hour. */
function onPresentClock(limit: LaneLimit, nowMs: number): LaneLimit {
  const shiftMs = limit.exchangedAtMs - nowMs;
  if (shiftMs <= 0) return { ...limit, exchangedAtMs: nowMs };
  const shift = (rate: LaneRate): LaneRate => ({
    ...rate,
    nextAtMs: rate.nextAtMs - shiftMs,
    found: rate.found === null ? null : { ...rate.found, fellAtMs: rate.found.fellAtMs - shiftMs },
  });
  return {
    ...limit,
    exchangedAtMs: nowMs,
    windowAtMs: limit.windowAtMs - shiftMs,
    heldUntilMs: limit.heldUntilMs - shiftMs,
    evidence: { ...limit.evidence, weighedAtMs: limit.evidence.weighedAtMs - shiftMs },
    requests: shift(limit.requests),
    tokens: shift(limit.tokens),
  };
}
