import type { RateLimitHeaders } from '@thrice/core';

/** Headers in which vendors report their rate limits and the remaining quota. */
const RATE_LIMIT = /^(retry-after(-ms)?|(x-|anthropic-)?ratelimit-.+)$/;

/** Returns the rate-limit headers of a response; empty if it has none. */
export function pickRateLimits(headers: Headers | undefined): RateLimitHeaders {
  if (headers === undefined) return {};
  return Object.fromEntries([...headers].filter(([name]) => RATE_LIMIT.test(name)));
}
