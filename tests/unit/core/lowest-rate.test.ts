import { describe, expect, it } from 'vitest';
import { lowestRate } from '../../../packages/core/src/domain/lanes/lowest-rate.ts';

describe('the rate in force', () => {
  it.each([
    { known: { spec: [60, 90], stated: 80, found: 70 }, source: 'spec', perMinute: 60 },
    { known: { spec: [90], stated: 60, found: 70 }, source: 'header', perMinute: 60 },
    { known: { spec: [90], stated: null, found: 70 }, source: 'found', perMinute: 70 },
  ])('is the lowest that is known: $source', ({ known, source, perMinute }) => {
    expect(lowestRate(known)).toEqual({ perMinute, source });
  });

  it('is that of the spec, then that of the vendor, where several are the same', () => {
    const sources = [
      lowestRate({ spec: [60], stated: 60, found: 60 }),
      lowestRate({ spec: [], stated: 60, found: 60 }),
    ].map((rate) => rate?.source);

    expect(sources).toEqual(['spec', 'header']);
  });

  it('is none where none is known', () => {
    expect(lowestRate({ spec: [], stated: null, found: null })).toBeNull();
  });
});
