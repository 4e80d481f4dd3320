import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { logGamma } from '../../../packages/core/src/statistics/log-gamma.ts';
import {
  logTAbove,
  logTTails,
  tQuantile,
} from '../../../packages/core/src/statistics/student-t.ts';

const degreesOfFreedom = fc.integer({ min: 1, max: 5_000 });

describe("Student's t distribution", () => {
  // R 4.4, qt(.975, df).
  it.each([
    [1, 12.706205],
    [2, 4.302653],
    [9, 2.262157],
    [30, 2.042272],
    [31, 2.039513],
    [60, 2.000298],
    [1000, 1.962339],
  ])('has the published quantile for %d degrees of freedom', (degrees, expected) => {
    expect(tQuantile(0.975, degrees)).toBeCloseTo(expected, 6);
  });

  it('is that of Cauchy for one degree of freedom, and elementary for two', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e6, noNaN: true }), (t) => {
        expect(Math.exp(logTTails(t, 1))).toBeCloseTo((2 / Math.PI) * Math.atan(1 / t), 12);
        expect(Math.exp(logTTails(t, 2))).toBeCloseTo(
          2 / (2 + t * t) / (1 + t / Math.sqrt(2 + t * t)),
          12,
        );
      }),
    );
  });

  it('has the same tails for both signs, thinner ones further out', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 50, noNaN: true }),
        fc.double({ min: 0.001, max: 50, noNaN: true }),
        degreesOfFreedom,
        (t, further, degrees) => {
          expect(logTTails(-t, degrees)).toBe(logTTails(t, degrees));
          expect(logTTails(t + further, degrees)).toBeLessThan(logTTails(t, degrees));
        },
      ),
    );
  });

  it('is on one side of a value or on the other', () => {
    fc.assert(
      fc.property(fc.double({ min: -50, max: 50, noNaN: true }), degreesOfFreedom, (t, degrees) => {
        const sides = [t, -t].map((each) => Math.exp(logTAbove(each, degrees)));

        expect((sides[0] ?? 0) + (sides[1] ?? 0)).toBeCloseTo(1, 12);
        expect(2 * Math.min(...sides)).toBeCloseTo(Math.exp(logTTails(t, degrees)), 12);
      }),
    );
  });

  it('has no tails missing at 0, and known ones where no number is small enough', () => {
    expect(logTTails(0, 7)).toBe(0);
    // The density of 4 degrees of freedom nears 12 / t^5.
    expect(logTTails(1e100, 4)).toBeCloseTo(Math.log(6) - 400 * Math.LN10, 9);
  });

  it('has the quantile beyond which its tail is', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.501, max: 0.9999, noNaN: true }),
        degreesOfFreedom,
        (ratio, degrees) => {
          const tails = Math.exp(logTTails(tQuantile(ratio, degrees), degrees));

          expect(tails).toBeCloseTo(2 * (1 - ratio), 11);
        },
      ),
    );
  });
});

describe('the logarithm of the gamma function', () => {
  it('is that of the factorials', () => {
    let sum = 0;
    for (let n = 1; n < 100; n += 1) {
      expect(logGamma(n)).toBeCloseTo(sum, 11);
      sum += Math.log(n);
    }
  });

  it('is half the logarithm of pi at 1/2', () => {
    expect(logGamma(0.5)).toBeCloseTo(Math.log(Math.PI) / 2, 13);
  });
});
