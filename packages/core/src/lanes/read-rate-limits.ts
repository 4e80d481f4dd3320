import type { RateLimits } from '../domain/lane-state.ts';
import type { RateLimitHeaders } from '../ports/governor.ts';

/** A bucket that is full again within this time, ms, holds the limit of a minute; one that takes longer, that of a day. */
const MINUTE_BUCKET_MS = 120_000;
const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * Headers whose limit is that of a minute, by name or by documentation, in order of preference.
 *
 * Mistral: https://github.com/mistralai/client-ts/issues/169 (2026-02). Cerebras:
 * https://inference-docs.cerebras.ai/support/rate-limits (2026-11). Anthropic, a token bucket whose limits are those of a
 * minute: https://docs.claude.com/en/api/rate-limits (2026-11).
 */
const OF_A_MINUTE = {
  requests: [
    'x-ratelimit-limit-req-minute',
    'x-ratelimit-limit-requests-minute',
    'anthropic-ratelimit-requests-limit',
  ],
  tokens: [
    'x-ratelimit-limit-tokens-minute',
    'anthropic-ratelimit-tokens-limit',
    'anthropic-ratelimit-input-tokens-limit',
  ],
} as const;

/**
 * Reads the limits a minute from the headers of a response; null where it states none.
 *
 * `x-ratelimit-limit-requests` does not say of what time: it is that of a minute in most answers of OpenAI, that of a day
 * in others and always at Groq. `reset` says how long the bucket takes to fill up what is gone, so both together tell
 * the rate at which it fills.
 *
 * @see https://platform.openai.com/docs/guides/rate-limits (rate limits in headers, 2026-11)
 * @see https://console.groq.com/docs/rate-limits (2026-11)
 */
export function readRateLimits(headers: RateLimitHeaders): RateLimits {
  return {
    requestsPerMinute: limitOf(headers, 'requests'),
    tokensPerMinute: limitOf(headers, 'tokens'),
  };
}

function limitOf(headers: RateLimitHeaders, kind: 'requests' | 'tokens'): number | null {
  for (const name of OF_A_MINUTE[kind]) {
    const limit = atLeastOne(headers[name]);
    if (limit !== null) return limit;
  }
  const limit = atLeastOne(headers[`x-ratelimit-limit-${kind}`]);
  if (limit === null) return null;
  const remaining = Number(headers[`x-ratelimit-remaining-${kind}`] ?? Number.NaN);
  const resetMs = durationMs(headers[`x-ratelimit-reset-${kind}`]);
  if (resetMs === null) return null;
  const goneCount = limit - Math.max(0, remaining);
  if (!(goneCount > 0)) return null;
  return (limit / goneCount) * resetMs <= MINUTE_BUCKET_MS ? limit : null;
}

/**
 * A limit. Azure says -1 where it has none: https://github.com/openai/openai-dotnet/issues/838 (2025-11). Less than one a
 * minute is no limit of a minute either, and a lane that believed it would stand still.
 */
function atLeastOne(text: string | undefined): number | null {
  const value = Number(text ?? Number.NaN);
  return Number.isFinite(value) && value >= 1 ? value : null;
}

/** Reads `6m0s`, `8.64s`, `20ms`, or a number of seconds. Null for anything else, and for no time at all. */
function durationMs(text: string | undefined): number | null {
  if (text === undefined || text.length > 40) return null;
  if (/^\d+(\.\d+)?$/.test(text)) return positive(Number(text) * 1_000);
  if (!/^(\d+(\.\d+)?(ms|[smhd]))+$/.test(text)) return null;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)];
  const sumMs = parts.reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (UNIT_MS[unit] ?? 0),
    0,
  );
  return positive(sumMs);
}

function positive(value: number): number | null {
  return value > 0 ? value : null;
}
