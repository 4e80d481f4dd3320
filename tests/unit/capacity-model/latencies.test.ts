import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createLatencyTable,
  LATENCY_COUNT,
} from '../../../packages/capacity-model/src/latency-table.ts';
import { seededRandom } from '../../../packages/capacity-model/src/seeded-random.ts';

const meanOf = (values: Float64Array) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

describe('createLatencyTable', () => {
  it('is constant without spread', () => {
    const table = createLatencyTable(30, 0);

    expect(new Set(table)).toEqual(new Set([30]));
    expect(table.length).toBe(LATENCY_COUNT);
  });

  it('has the quantiles of a lognormal distribution', () => {
    const table = createLatencyTable(100, 0.5);
    const at = (ratio: number) => table[Math.floor(ratio * LATENCY_COUNT)] ?? 0;

    // The normal distribution's 84.13% and 99% quantiles are 1 and 2.3263 standard deviations.
    expect(at(0.5)).toBeCloseTo(100 * Math.exp(-0.125), 1);
    expect(at(0.841345) / at(0.5)).toBeCloseTo(Math.exp(0.5), 2);
    expect(at(0.99) / at(0.5)).toBeCloseTo(Math.exp(0.5 * 2.3263), 1);
  });

  it('has the given mean and is sorted', () => {
    const means = fc.double({ min: 0.01, max: 900, noNaN: true });
    const spreads = fc.double({ min: 0, max: 2, noNaN: true });

    fc.assert(
      fc.property(means, spreads, (mean, spread) => {
        const table = createLatencyTable(mean, spread);

        expect(Math.abs(meanOf(table) / mean - 1)).toBeLessThan(1e-9);
        expect(table.every((value, index) => index === 0 || value >= (table[index - 1] ?? 0))).toBe(
          true,
        );
      }),
      { numRuns: 20 },
    );
  });
});

describe('seededRandom', () => {
  it('repeats a sequence only for the same seed', () => {
    const draw = (seed: number) => Array.from({ length: 5 }, seededRandom(seed));

    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  it('is uniform in 0..1', () => {
    const random = seededRandom(1);
    const buckets = new Map<number, number>();

    for (let index = 0; index < 100_000; index += 1) {
      const bucket = Math.floor(random() * 10);
      buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
    }

    expect(new Set(buckets.keys())).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    // 10,000 each; 5 standard deviations are 474.
    expect([...buckets.values()].every((count) => Math.abs(count - 10_000) < 474)).toBe(true);
  });
});
