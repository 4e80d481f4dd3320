import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mean } from '../../../packages/core/src/statistics/mean.ts';
import { nistSets } from '../../support/nist-sets.ts';

const samples = fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 12 });

describe('the mean', () => {
  it.each(nistSets)('matches the certified value of $name', ({ values, certifiedMean, digits }) => {
    expect(mean(values)).toBeCloseTo(certifiedMean, digits);
  });

  it('is undefined without values', () => {
    expect(mean([])).toBeUndefined();
  });

  it('lies between the extremes', () => {
    fc.assert(
      fc.property(samples, (values) => {
        expect(mean(values)).toBeGreaterThanOrEqual(Math.min(...values));
        expect(mean(values)).toBeLessThanOrEqual(Math.max(...values));
      }),
    );
  });
});
