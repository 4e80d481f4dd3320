import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { predictedTotal } from '../../../packages/core/src/statistics/predicted-total.ts';

describe('predictedTotal', () => {
  it('predicts the mean of the sample for each amount, with an interval of its spread', () => {
    const total = predictedTotal([8, 10, 12], 30);

    // 30 x 10; 30 x 4.302653 x 2 x sqrt(1/3 + 1/30)
    expect(total.expected).toBe(300);
    expect(total.lower).toBeCloseTo(300 - 156.323, 2);
    expect(total.upper).toBeCloseTo(300 + 156.323, 2);
  });

  it('has no interval from a sample of one', () => {
    expect(predictedTotal([4], 10)).toEqual({ expected: 40, lower: null, upper: null });
  });

  it('has no interval from a few equal amounts', () => {
    expect(predictedTotal([4, 4], 10)).toEqual({ expected: 40, lower: null, upper: null });
    expect(predictedTotal(Array(9).fill(0.1), 10)).toMatchObject({ lower: null, upper: null });
  });

  it('is certain where nothing varies, and of nothing', () => {
    const ten = Array.from({ length: 10 }, () => 4);
    expect(predictedTotal(ten, 10)).toEqual({ expected: 40, lower: 40, upper: 40 });
    expect(predictedTotal([4], 0)).toEqual({ expected: 0, lower: 0, upper: 0 });
  });

  it('has bounds around what it expects, none below 0', () => {
    const amounts = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 2 });
    fc.assert(
      fc.property(amounts, fc.integer({ min: 0, max: 10_000 }), (sample, size) => {
        const { expected, lower, upper } = predictedTotal(sample, size);

        if (lower === null || upper === null) return;
        expect(lower).toBeGreaterThanOrEqual(0);
        expect(lower).toBeLessThanOrEqual(expected + 1e-9);
        expect(upper).toBeGreaterThanOrEqual(expected - 1e-9);
      }),
    );
  });

  it('covers the total of new amounts in 95 of 100 cases', () => {
    const random = seeded(7);
    const draw = () => 100 + 15 * normal(random);
    let covered = 0;
    for (let trial = 0; trial < 2_000; trial += 1) {
      const { lower, upper } = predictedTotal(Array.from({ length: 6 }, draw), 40);
      const total = Array.from({ length: 40 }, draw).reduce((sum, amount) => sum + amount, 0);
      if (total >= (lower ?? 0) && total <= (upper ?? 0)) covered += 1;
    }

    expect(covered / 2_000).toBeGreaterThan(0.935);
    expect(covered / 2_000).toBeLessThan(0.965);
  });
});

/** Mulberry32. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Box and Muller. */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
