import { describe, expect, it } from 'vitest';
import { readRateLimits } from '../../../packages/core/src/lanes/read-rate-limits.ts';

const none = { requestsPerMinute: null, tokensPerMinute: null };

describe('the limits that a vendor states in its headers', () => {
  it.each([
    [
      'OpenAI, as its guide shows them',
      {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-limit-tokens': '150000',
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-remaining-tokens': '149984',
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-reset-tokens': '6ms',
      },
      { requestsPerMinute: 60, tokensPerMinute: 150_000 },
    ],
    [
      'OpenAI, with requests of a day: 10,000 refill one in 8.64 seconds',
      {
        'x-ratelimit-limit-requests': '10000',
        'x-ratelimit-remaining-requests': '9999',
        'x-ratelimit-reset-requests': '8.64s',
      },
      none,
    ],
    [
      'Groq, as its page shows them: requests of a day, tokens of a minute',
      {
        'x-ratelimit-limit-requests': '14400',
        'x-ratelimit-limit-tokens': '18000',
        'x-ratelimit-remaining-requests': '14370',
        'x-ratelimit-remaining-tokens': '17997',
        'x-ratelimit-reset-requests': '2m59.56s',
        'x-ratelimit-reset-tokens': '7.66ms',
      },
      { requestsPerMinute: null, tokensPerMinute: 18_000 },
    ],
    [
      'Anthropic',
      {
        'anthropic-ratelimit-requests-limit': '50',
        'anthropic-ratelimit-requests-remaining': '49',
        'anthropic-ratelimit-requests-reset': '2026-11-22T12:00:00Z',
        'anthropic-ratelimit-tokens-limit': '50000',
      },
      { requestsPerMinute: 50, tokensPerMinute: 50_000 },
    ],
    [
      'Mistral, from the issue of its client',
      {
        'x-ratelimit-limit-tokens-minute': '5000000',
        'x-ratelimit-remaining-tokens-minute': '4999911',
        'x-ratelimit-limit-req-minute': '720',
        'x-ratelimit-remaining-req-minute': '717',
      },
      { requestsPerMinute: 720, tokensPerMinute: 5_000_000 },
    ],
    [
      'Azure without limits, from the issue of its client',
      {
        'x-ratelimit-limit-tokens': '-1',
        'x-ratelimit-remaining-tokens': '-1',
        'x-ratelimit-reset-tokens': '0',
      },
      none,
    ],
    [
      'a vendor whose limits are next to nothing',
      {
        'x-ratelimit-limit-req-minute': '1e-320',
        'anthropic-ratelimit-requests-limit': '0',
        'x-ratelimit-limit-tokens-minute': '-1',
        'anthropic-ratelimit-tokens-limit': '0.5',
        'anthropic-ratelimit-input-tokens-limit': 'Infinity',
      },
      none,
    ],
    ['a vendor that says no time', { 'x-ratelimit-limit': '100' }, none],
    [
      'a full bucket, which does not say how fast it fills',
      {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': '60',
        'x-ratelimit-reset-requests': '0s',
      },
      none,
    ],
    [
      'garbage',
      { 'x-ratelimit-limit-requests': 'many', 'x-ratelimit-reset-requests': '1s1'.repeat(400_000) },
      none,
    ],
  ])('are read from those of %s', (_, headers, expected) => {
    expect(readRateLimits(headers as Readonly<Record<string, string>>)).toEqual(expected);
  });
});
