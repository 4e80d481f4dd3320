import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  marginTest,
  type Pair,
  pairedDifference,
} from '../../../packages/core/src/statistics/paired-difference.ts';

type Values = readonly number[];

const score = fc.integer({ min: 0, max: 4 }).map((quarters) => quarters / 4);
const replicates = fc.array(score, { maxLength: 4 });
const scorePairs = fc
  .array(fc.tuple(replicates, replicates), { minLength: 1, maxLength: 40 })
  .map((pairs) => pairs.map(([first, second]) => pairOf(first, second)));

describe('the paired difference', () => {
  // Student (1908), additional hours of sleep of ten patients; R 4.4, t.test(paired = TRUE) on its data set `sleep`.
  it('matches a published example', () => {
    const first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2];
    const second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

    const result = pairedDifference(
      first.map((hours, index) => pairOf([hours], [second[index] ?? 0])),
    );

    expect(result?.count).toBe(10);
    expect(result?.difference).toBeCloseTo(-1.58, 12);
    expect(result?.interval?.[0]).toBeCloseTo(-2.4598858, 7);
    expect(result?.interval?.[1]).toBeCloseTo(-0.7001142, 7);
    expect(result?.pValue?.p).toBeCloseTo(0.002833, 6);
    // Cohen's d of these data in R's package effsize and in many textbooks.
    expect(result?.effect).toBeCloseTo(-1.2846, 4);
    // Of the one-sided test, by the same figures: half of p, all but half of it, and 2.5 % at the bound of the interval.
    if (result === undefined) throw new Error('expected a difference');
    expect(marginTest(result, 0, 'lower')?.p).toBeCloseTo(0.002833 / 2, 6);
    expect(marginTest(result, 0, 'higher')?.p).toBeCloseTo(1 - 0.002833 / 2, 6);
    expect(marginTest(result, 2.4598858, 'higher')?.p).toBeCloseTo(0.025, 7);
  });

  it('counts a question once, however many replicates it has', () => {
    const once = [pairOf([1], [0]), pairOf([0.5], [0]), pairOf([0], [1])];
    const often = [pairOf([1, 1, 1], [0]), pairOf([0, 1], [0, 0]), pairOf([0], [1, 1, 1, 1])];

    expect(pairedDifference(often, 1)).toEqual(pairedDifference(once, 1));
  });

  it('is over the questions that both have', () => {
    const pairs = [pairOf([1], [0]), pairOf([1], [1]), pairOf([0], [1])];

    expect(pairedDifference([...pairs, pairOf([1], []), pairOf([], [0])], 1)).toEqual(
      pairedDifference(pairs, 1),
    );
  });

  it('is unknown without a question that both have', () => {
    expect(pairedDifference([], 1)).toBeUndefined();
    expect(pairedDifference([pairOf([1], []), pairOf([], [1])], 1)).toBeUndefined();
  });

  it('has no spread from one question', () => {
    expect(pairedDifference([pairOf([1], [0])], 1)).toEqual({
      count: 1,
      difference: 1,
      standardDeviation: undefined,
      standardError: undefined,
      interval: undefined,
      effect: undefined,
      pValue: undefined,
    });
  });

  it('has no spread where all differ by the same, unless the range is known', () => {
    const costs = [pairOf([0.1], [0.3]), pairOf([0.2], [0.4]), pairOf([0.7], [0.9])];

    expect(pairedDifference(costs)?.difference).toBeCloseTo(-0.2, 12);
    expect(pairedDifference(costs)?.interval).toBeUndefined();
    expect(pairedDifference(costs)?.pValue).toBeUndefined();
    expect(pairedDifference(costs, 1)?.interval).toBeDefined();
  });

  it('of a config with itself is 0, with bounds near 2.8 / n, and p is 1', () => {
    const same = Array.from({ length: 1_000 }, (_, index) => pairOf([index % 2], [index % 2]));

    const result = pairedDifference(same, 1);

    expect(result).toMatchObject({ difference: 0, effect: 0, pValue: { p: 1, log10P: 0 } });
    expect(result?.interval?.[0]).toBeCloseTo(-0.0028, 4);
    expect(result?.interval?.[1]).toBeCloseTo(0.0028, 4);
  });

  it('is reversed where the order is', () => {
    fc.assert(
      fc.property(scorePairs, (pairs) => {
        const result = pairedDifference(pairs, 1);
        const reversed = pairedDifference(
          pairs.map(({ first, second }) => ({ first: second, second: first })),
          1,
        );

        expect(reversed?.difference ?? 0).toBeCloseTo(-(result?.difference ?? 0), 12);
        expect(reversed?.interval?.[0] ?? 0).toBeCloseTo(-(result?.interval?.[1] ?? 0), 12);
        expect(reversed?.pValue?.log10P ?? 0).toBeCloseTo(result?.pValue?.log10P ?? 0, 9);
      }),
    );
  });

  it('lies in its interval, which lies in the range, and leaves 0 out where p is below 5 %', () => {
    fc.assert(
      fc.property(scorePairs, (pairs) => {
        const result = pairedDifference(pairs, 1);
        fc.pre(result?.interval !== undefined);
        const { difference = 0, interval: [lower, upper] = [0, 0], pValue } = result ?? {};

        expect(lower).toBeGreaterThanOrEqual(-1);
        expect(upper).toBeLessThanOrEqual(1);
        expect(lower).toBeLessThanOrEqual(difference);
        expect(upper).toBeGreaterThanOrEqual(difference);
        expect(lower > 0 || upper < 0).toBe((pValue?.p ?? 1) < 0.05);
      }),
    );
  });

  it('moves with the values of an unbounded metric, and grows with their unit', () => {
    const metric = fc.array(fc.tuple(fc.nat(1_000), fc.nat(1_000)), {
      minLength: 3,
      maxLength: 40,
    });
    fc.assert(
      fc.property(metric, fc.integer({ min: 2, max: 100 }), (values, factor) => {
        const seconds = values.map(([first, second]) => pairOf([first], [second]));
        const smaller = values.map(([first, second]) =>
          pairOf([first * factor], [second * factor]),
        );
        const [before, after] = [pairedDifference(seconds), pairedDifference(smaller)];

        expect(after?.difference).toBeCloseTo((before?.difference ?? 0) * factor, 6);
        expect(after?.standardError ?? 0).toBeCloseTo((before?.standardError ?? 0) * factor, 6);
        expect(after?.pValue?.log10P ?? 0).toBeCloseTo(before?.pValue?.log10P ?? 0, 6);
      }),
    );
  });
});

function pairOf(first: Values, second: Values): Pair {
  return { first: clusterOf(first), second: clusterOf(second) };
}

function clusterOf(values: Values): Pair['first'] {
  return { sum: values.reduce((sum, value) => sum + value, 0), count: values.length };
}
