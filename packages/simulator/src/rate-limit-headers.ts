import type { RateLimit } from './load-rate-limit.ts';
import type { TokenBucket } from './token-bucket.ts';

/** The buckets of a limit, those that it has. */
interface Buckets {
  readonly requests: TokenBucket | undefined;
  readonly tokens: TokenBucket | undefined;
}

/** Renders the rate-limit headers of a response as its vendor does: a flat list of names and values. */
export function describeLimits(
  vendor: RateLimit['headers'],
  { requests, tokens }: Buckets,
  nowMs: number,
): readonly string[] {
  switch (vendor) {
    case undefined:
      return [];
    case 'openai':
      return [...describeOpenai('requests', requests), ...describeOpenai('tokens', tokens)];
    case 'anthropic':
      return [
        ...describeAnthropic('requests', requests, nowMs),
        ...describeAnthropic('tokens', tokens, nowMs),
      ];
  }
}

/** @see https://platform.openai.com/docs/guides/rate-limits (2026-11): the reset is that of the whole limit */
function describeOpenai(name: string, bucket: TokenBucket | undefined): readonly string[] {
  if (bucket === undefined) return [];
  return [
    `x-ratelimit-limit-${name}`,
    String(Math.floor(bucket.perMinute)),
    `x-ratelimit-remaining-${name}`,
    String(remainingOf(bucket)),
    `x-ratelimit-reset-${name}`,
    formatDuration(bucket.msUntilFull()),
  ];
}

/**
 * Tokens are rounded to the nearest thousand, and instants are in RFC 3339.
 *
 * @see https://docs.claude.com/en/api/rate-limits (2026-11)
 */
function describeAnthropic(
  name: string,
  bucket: TokenBucket | undefined,
  nowMs: number,
): readonly string[] {
  if (bucket === undefined) return [];
  const remaining = remainingOf(bucket);
  const told = name === 'tokens' ? Math.round(remaining / 1000) * 1000 : remaining;
  const reset = new Date(Math.ceil((nowMs + bucket.msUntilFull()) / 1000) * 1000);
  return [
    `anthropic-ratelimit-${name}-limit`,
    String(Math.floor(bucket.perMinute)),
    `anthropic-ratelimit-${name}-remaining`,
    String(told),
    `anthropic-ratelimit-${name}-reset`,
    reset.toISOString().replace('.000Z', 'Z'),
  ];
}

/** What is left, in whole units. */
function remainingOf(bucket: TokenBucket): number {
  return Math.max(0, Math.floor(bucket.level + 1e-9));
}

/** Formats a duration as OpenAI does: `12ms`, `1.5s`, `6m0s`. */
function formatDuration(durationMs: number): string {
  const ms = Math.ceil(durationMs);
  if (ms < 1000) return `${ms}ms`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = `${(ms - minutes * 60_000) / 1000}s`;
  return minutes === 0 ? seconds : `${minutes}m${seconds}`;
}
