import { effectiveRate } from './effective-rate.ts';
import type { LaneLimit, LaneRate } from './lane-limit.ts';
import type { LaneReport } from './lane-report.ts';
import type { LimitKind } from './limit-kind.ts';

/** The use of a lane is counted in windows of so long, ms. */
const WINDOW_MS = 10_000;

/** What was used of late, a minute. */
export function usedPerMinute(
  { windowAtMs, ...limit }: LaneLimit,
  kind: LimitKind,
  nowMs: number,
): number {
  const { used, usedBefore } = limit[kind];
  const elapsedMs = Math.max(0, nowMs - windowAtMs);
  if (elapsedMs >= 2 * WINDOW_MS) return 0;
  const before = elapsedMs >= WINDOW_MS ? used : usedBefore;
  const current = elapsedMs >= WINDOW_MS ? 0 : used;
  const elapsedRatio = (elapsedMs % WINDOW_MS) / WINDOW_MS;
  return ((current + before * (1 - elapsedRatio)) * 60_000) / WINDOW_MS;
}

/** The tokens of an average call of late; null if none was counted. */
export function tokensPerCall({ requests, tokens }: LaneLimit): number | null {
  const calls = requests.used + requests.usedBefore;
  const perCall = calls === 0 ? 0 : (tokens.used + tokens.usedBefore) / calls;
  return perCall > 0 ? perCall : null;
}

/** Counts what a process has used, and gives back the tokens that it reserved in vain. */
export function countUse(
  limit: LaneLimit,
  { used, returnedTokens }: LaneReport,
  nowMs: number,
): LaneLimit {
  const elapsedMs = nowMs - limit.windowAtMs;
  const isOver = elapsedMs >= WINDOW_MS || elapsedMs < 0;
  const isLong = elapsedMs >= 2 * WINDOW_MS || elapsedMs < 0;
  const count = (rate: LaneRate, added: number): LaneRate => {
    const usedBefore = isLong ? 0 : isOver ? rate.used : rate.usedBefore;
    return { ...rate, used: Math.max(0, (isOver ? 0 : rate.used) + added), usedBefore };
  };
  const windowAtMs = isLong ? nowMs : isOver ? limit.windowAtMs + WINDOW_MS : limit.windowAtMs;
  const requests = count(limit.requests, used.requests);
  const tokens = count(limit.tokens, used.tokens - returnedTokens);
  const counted = { ...limit, windowAtMs, requests, tokens };
  const rate = effectiveRate(limit, 'tokens', nowMs);
  if (rate === null) return counted;
  const nextAtMs = tokens.nextAtMs - (returnedTokens * 60_000) / rate.perMinute;
  return { ...counted, tokens: { ...tokens, nextAtMs } };
}
