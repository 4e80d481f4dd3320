import { describe, expect, it } from 'vitest';
import { pickRateLimits } from '../../../packages/models/src/transport/rate-limit-headers.ts';

describe('the rate-limit headers of a response', () => {
  it('are those of every vendor, and no others', () => {
    const rateLimits = {
      'retry-after': '7',
      'retry-after-ms': '7000',
      'ratelimit-remaining': '1',
      'x-ratelimit-reset-requests': '6m0s',
      'anthropic-ratelimit-tokens-remaining': '12',
    };
    const others = {
      'content-type': 'application/json',
      'x-request-id': 'r1',
      'retry-afterwards': '1',
    };

    expect(pickRateLimits({ ...rateLimits, ...others })).toEqual(rateLimits);
  });
});
