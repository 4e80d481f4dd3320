import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addValue,
  joinMoments,
  noMoments,
  type RunningMoments,
} from '../../../packages/core/src/statistics/running-moments.ts';
import { sampleVariance } from '../../../packages/core/src/statistics/sample-variance.ts';
import { nistSets } from '../../support/nist-sets.ts';

const samples = fc.array(fc.integer({ min: -1000, max: 1000 }), { maxLength: 12 });

describe('running moments', () => {
  it.each(nistSets)(
    'give the certified variance of $name',
    ({ values, certifiedVariance, digits }) => {
      expect(varianceOf(momentsOf(values))).toBeCloseTo(certifiedVariance, digits);
    },
  );

  it('are those of the values, wherever these are parted', () => {
    fc.assert(
      fc.property(samples, samples, (left, right) => {
        const joined = joinMoments(momentsOf(left), momentsOf(right));

        const values = [...left, ...right];
        expect(joined.count).toBe(values.length);
        expect(joined.sum).toBe(values.reduce((sum, value) => sum + value, 0));
        fc.pre(values.length > 1);
        expect(varianceOf(joined)).toBeCloseTo(sampleVariance(values) ?? Number.NaN, 6);
      }),
    );
  });
});

function momentsOf(values: readonly number[]): RunningMoments {
  const moments = noMoments();
  for (const value of values) addValue(moments, value);
  return moments;
}

function varianceOf({ count, squares }: RunningMoments): number {
  return squares / (count - 1);
}
