import type { RateLimitHeaders } from '@thrice/core';

/** Headers in which vendors state their limits and what is left of them. */
const RATE_LIMIT = /^(retry-after(-ms)?|(x-|anthropic-)?ratelimit-.+)$/;

/** The rate-limit headers of a response; none where it has none. */
export function pickRateLimits(headers: Headers | undefined): RateLimitHeaders {
  if (headers === undefined) return {};
  return Object.fromEntries([...headers].filter(([name]) => RATE_LIMIT.test(name)));
}
