import type { RateLimitHeaders } from '@thrice/core';
import type { HttpHeaders } from './http-transport.ts';

/** Headers in which vendors report their rate limits and the remaining quota. */
const RATE_LIMIT = /^(retry-after(-ms)?|(x-|anthropic-)?ratelimit-.+)$/;
/** Other values are no numbers, dates or durations. */
const READABLE = /^[\x20-\x7e]*$/;

/** Returns the rate-limit headers of a response; empty if it has none. */
export function pickRateLimits(headers: HttpHeaders): RateLimitHeaders {
  const picked: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    if (!RATE_LIMIT.test(name)) continue;
    const text = String(headers[name]);
    if (READABLE.test(text)) picked[name] = text;
  }
  return picked;
}
