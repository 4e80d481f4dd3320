import { mean, quantile, sampleVariance, wilsonInterval } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const samples = fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 12 });
const counts = fc
  .integer({ min: 1, max: 500 })
  .chain((trials) => fc.record({ trials: fc.constant(trials), hits: fc.nat({ max: trials }) }));

describe('the Wilson interval', () => {
  // Newcombe (1998), Statistics in Medicine 17, 857-872, table I, method 3.
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])('of %i in %i is the published one', (hits, trials, lower, upper) => {
    const [low, high] = intervalOf(hits, trials);

    expect(low).toBeCloseTo(lower, 4);
    expect(high).toBeCloseTo(upper, 4);
  });

  it('is not there without trials', () => {
    expect(wilsonInterval(0, 0)).toBeUndefined();
  });

  it('begins at 0 without a success and ends at 1 without a failure', () => {
    expect(intervalOf(0, 7)[0]).toBe(0);
    expect(intervalOf(7, 7)[1]).toBe(1);
  });

  it('lies in 0..1 and holds the ratio', () => {
    fc.assert(
      fc.property(counts, ({ hits, trials }) => {
        const [low, high] = intervalOf(hits, trials);

        expect(low).toBeGreaterThanOrEqual(0);
        expect(low).toBeLessThanOrEqual(hits / trials);
        expect(high).toBeGreaterThanOrEqual(hits / trials);
        expect(high).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('ends where the score test is just passed', () => {
    const z = 1.959963984540054;

    fc.assert(
      fc.property(counts, ({ hits, trials }) => {
        for (const bound of intervalOf(hits, trials)) {
          // At 0 and 1 the bound is exact, not a root.
          if (bound === 0 || bound === 1) continue;
          const distance = Math.abs(hits / trials - bound);
          expect(distance).toBeCloseTo(z * Math.sqrt((bound * (1 - bound)) / trials), 10);
        }
      }),
    );
  });

  it('rises with the successes', () => {
    fc.assert(
      fc.property(counts, ({ hits, trials }) => {
        fc.pre(hits < trials);

        const fewer = intervalOf(hits, trials);
        const more = intervalOf(hits + 1, trials);

        expect(more[0]).toBeGreaterThan(fewer[0]);
        expect(more[1]).toBeGreaterThan(fewer[1]);
      }),
    );
  });

  it('narrows with the trials', () => {
    fc.assert(
      fc.property(counts, fc.integer({ min: 2, max: 9 }), ({ hits, trials }, factor) => {
        const small = intervalOf(hits, trials);
        const large = intervalOf(hits * factor, trials * factor);

        expect(large[1] - large[0]).toBeLessThan(small[1] - small[0]);
      }),
    );
  });

  it('mirrors that of the failures', () => {
    fc.assert(
      fc.property(counts, ({ hits, trials }) => {
        const [low, high] = intervalOf(hits, trials);
        const [mirroredLow, mirroredHigh] = intervalOf(trials - hits, trials);

        expect(low).toBeCloseTo(1 - mirroredHigh, 10);
        expect(high).toBeCloseTo(1 - mirroredLow, 10);
      }),
    );
  });
});

describe('mean and sample variance', () => {
  // NIST StRD, univariate summary statistics (NumAcc1 to NumAcc4), certified values;
  // https://www.itl.nist.gov/div898/strd/univ/homepage.html
  it.each<[string, readonly number[], number, number, number]>([
    ['NumAcc1', [10_000_001, 10_000_003, 10_000_002], 10_000_002, 1, 12],
    ['NumAcc2', swinging(1.2, 0.1), 1.2, 0.01, 12],
    ['NumAcc3', swinging(1_000_000.2, 0.1), 1_000_000.2, 0.01, 8],
    ['NumAcc4', swinging(10_000_000.2, 0.1), 10_000_000.2, 0.01, 6],
  ])('of NIST data set %s are the certified ones', (_, values, center, variance, digits) => {
    expect(mean(values)).toBeCloseTo(center, digits);
    expect(sampleVariance(values)).toBeCloseTo(variance, digits);
  });

  it('are not there without values, the variance not with one', () => {
    expect(mean([])).toBeUndefined();
    expect(sampleVariance([])).toBeUndefined();
    expect(sampleVariance([3])).toBeUndefined();
  });

  it('are 0 apart for equal values', () => {
    expect(sampleVariance([2, 2, 2])).toBe(0);
  });

  it('have the mean between the extremes', () => {
    fc.assert(
      fc.property(samples, (values) => {
        expect(mean(values)).toBeGreaterThanOrEqual(Math.min(...values));
        expect(mean(values)).toBeLessThanOrEqual(Math.max(...values));
      }),
    );
  });

  it('have the variance that all pairs of values have', () => {
    fc.assert(
      fc.property(samples, (values) => {
        fc.pre(values.length > 1);
        const pairs = values.flatMap((left, at) =>
          values.slice(at + 1).map((right) => (left - right) ** 2 / 2),
        );

        expect(sampleVariance(values)).toBeCloseTo(mean(pairs) ?? Number.NaN, 6);
      }),
    );
  });
});

describe('a quantile', () => {
  // The reference values are those of R's quantile(1:10, type = 7), and of the example in
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

  it('is not there without values', () => {
    expect(quantile([], 0.5)).toBeUndefined();
  });

  it('is an order statistic where one falls on the ratio', () => {
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

function intervalOf(hits: number, trials: number): readonly [number, number] {
  return wilsonInterval(hits, trials) ?? [Number.NaN, Number.NaN];
}

/** NIST's pattern: the centre once, then 500 times just below and just above it. */
function swinging(center: number, by: number): readonly number[] {
  return [center, ...Array.from({ length: 1000 }, (_, at) => center + (at % 2 === 0 ? -by : by))];
}
