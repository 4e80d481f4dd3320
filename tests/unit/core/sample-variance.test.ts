import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mean } from '../../../packages/core/src/statistics/mean.ts';
import { sampleVariance } from '../../../packages/core/src/statistics/sample-variance.ts';
import { nistSets } from '../../support/nist-sets.ts';

const samples = fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 12 });

describe('the sample variance', () => {
  it.each(nistSets)(
    'matches the certified value of $name',
    ({ values, certifiedVariance, digits }) => {
      expect(sampleVariance(values)).toBeCloseTo(certifiedVariance, digits);
    },
  );

  it('is undefined for fewer than 2 values', () => {
    expect(sampleVariance([])).toBeUndefined();
    expect(sampleVariance([3])).toBeUndefined();
  });

  it('is 0 for equal values', () => {
    expect(sampleVariance([2, 2, 2])).toBe(0);
  });

  it('is the mean over all pairs of half the squared difference', () => {
    fc.assert(
      fc.property(samples, (values) => {
        fc.pre(values.length > 1);
        const pairs = values.flatMap((left, index) =>
          values.slice(index + 1).map((right) => (left - right) ** 2 / 2),
        );

        expect(sampleVariance(values)).toBeCloseTo(mean(pairs) ?? Number.NaN, 6);
      }),
    );
  });
});
