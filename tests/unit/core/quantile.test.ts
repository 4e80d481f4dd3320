import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quantile } from '../../../packages/core/src/statistics/quantile.ts';

const samples = fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 12 });

describe('a quantile', () => {
  // Reference values: R's quantile(1:10, type = 7), and the example in
  // https://numpy.org/doc/stable/reference/generated/numpy.percentile.html
  it.each<[string, readonly number[], number, number]>([
    ['1:10', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.25, 3.25],
    ['1:10', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.5, 5.5],
    ['1:10', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 0.9, 9.1],
    ["numpy's example", [1, 2, 3, 4, 7, 10], 0.5, 3.5],
    ['one value', [7], 0.99, 7],
  ])('of %s (%j) at %d is %d', (_, values, ratio, expected) => {
    expect(quantile(values, ratio)).toBeCloseTo(expected, 12);
  });

  it('is undefined without values', () => {
    expect(quantile([], 0.5)).toBeUndefined();
  });

  it('is an order statistic if one falls on the ratio', () => {
    fc.assert(
      fc.property(samples, (values) => {
        const sorted = values.toSorted((left, right) => left - right);

        expect(quantile(sorted, 0)).toBe(sorted[0]);
        expect(quantile(sorted, 1)).toBe(sorted.at(-1));
        for (const [index, value] of sorted.entries()) {
          if (sorted.length > 1) {
            expect(quantile(sorted, index / (sorted.length - 1))).toBeCloseTo(value, 9);
          }
        }
      }),
    );
  });

  it('rises with the ratio', () => {
    const ratios = fc.double({ min: 0, max: 1, noNaN: true });

    fc.assert(
      fc.property(samples, ratios, ratios, (values, one, other) => {
        const sorted = values.toSorted((left, right) => left - right);

        const low = quantile(sorted, Math.min(one, other)) ?? Number.NaN;
        const high = quantile(sorted, Math.max(one, other)) ?? Number.NaN;

        expect(high - low).toBeGreaterThanOrEqual(-1e-9);
      }),
    );
  });
});
