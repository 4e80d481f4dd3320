import { effectiveRate, exchangeShare, type LaneReport, unknownLimit } from '@thrice/core';
import { describe, expect, it } from 'vitest';

const NOW_MS = 1_767_323_045_000;
const MINUTE_MS = 60_000;

function aReport(requests: number): LaneReport {
  return {
    owner: 'ann',
    group: 'a',
    inUse: 1,
    waiting: 0,
    spec: { requestsPerMinute: null, tokensPerMinute: null, maxConcurrency: null },
    used: { requests: 1, tokens: 10 },
    returnedTokens: 0,
    stated: { requests, tokens: null },
    refusals: [],
    wants: { requests: 0, tokens: 0, first: 1 },
  };
}

describe('a limit that a vendor states in its headers', () => {
  it('holds for five minutes after the last answer that stated it', () => {
    const { limit } = exchangeShare(unknownLimit(NOW_MS), aReport(1), NOW_MS);

    const sources = [0, 4, 5].map(
      (minutes) => effectiveRate(limit, 'requests', NOW_MS + minutes * MINUTE_MS)?.source,
    );

    expect(sources).toEqual(['header', 'header', undefined]);
  });
});
