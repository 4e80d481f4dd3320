import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { wilsonInterval } from '../../../packages/core/src/statistics/wilson-interval.ts';

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
  ])('matches the published bounds for %i in %i', (hits, trials, lower, upper) => {
    const [low, high] = intervalOf(hits, trials);

    expect(low).toBeCloseTo(lower, 4);
    expect(high).toBeCloseTo(upper, 4);
  });

  it('is undefined without trials', () => {
    expect(wilsonInterval(0, 0)).toBeUndefined();
  });

  it('starts at 0 without successes and ends at 1 without failures', () => {
    expect(intervalOf(0, 7)[0]).toBe(0);
    expect(intervalOf(7, 7)[1]).toBe(1);
  });

  it('lies in 0..1 and contains the ratio', () => {
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

  it('has bounds at which the score test just passes', () => {
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

  it('rises with more successes', () => {
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

  it('narrows with more trials', () => {
    fc.assert(
      fc.property(counts, fc.integer({ min: 2, max: 9 }), ({ hits, trials }, factor) => {
        const small = intervalOf(hits, trials);
        const large = intervalOf(hits * factor, trials * factor);

        expect(large[1] - large[0]).toBeLessThan(small[1] - small[0]);
      }),
    );
  });

  it('mirrors the interval of the failures', () => {
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

function intervalOf(hits: number, trials: number): readonly [number, number] {
  return wilsonInterval(hits, trials) ?? [Number.NaN, Number.NaN];
}
