import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  minimumDetectableEffect,
  questionsNeeded,
} from '../../../packages/core/src/statistics/minimum-detectable-effect.ts';

const deviation = fc.double({ min: 0.01, max: 10, noNaN: true });

describe('the minimum detectable effect', () => {
  it('nears 2.8 standard errors, as in Bloom (1995), for a two-sided test', () => {
    expect(minimumDetectableEffect(1, 1_000_000) * 1_000).toBeCloseTo(2.8016, 4);
    // The t of 60 degrees of freedom in any table: 2.000 and 0.848.
    expect(minimumDetectableEffect(1, 61) * Math.sqrt(61)).toBeCloseTo(2.848, 3);
  });

  it('falls with more questions and grows with the spread', () => {
    fc.assert(
      fc.property(deviation, fc.integer({ min: 2, max: 10_000 }), (spread, count) => {
        const effect = minimumDetectableEffect(spread, count);

        expect(minimumDetectableEffect(spread, count + 1)).toBeLessThan(effect);
        expect(minimumDetectableEffect(2 * spread, count)).toBeCloseTo(2 * effect, 9);
      }),
    );
  });

  it('is 0 where all questions differ alike', () => {
    expect(minimumDetectableEffect(0, 30)).toBe(0);
  });
});

describe('the number of questions needed', () => {
  // G*Power 3.1, difference between two dependent means, two-sided, for effects of 0.5 and 0.2.
  it('is the published one', () => {
    expect(questionsNeeded(1, 0.5)).toBe(34);
    expect(questionsNeeded(1, -0.2)).toBe(199);
  });

  it('is larger for one of several tests, and for the exact test by as many as Edwards (1948) corrects for', () => {
    // The t of 49 degrees of freedom in any table: 2.680 and 0.849, together less than half of the root of 50.
    expect(questionsNeeded(1, 0.5, { level: 0.01 })).toBe(50);
    expect(minimumDetectableEffect(0.5, 40, { isExact: true })).toBeCloseTo(
      minimumDetectableEffect(0.5, 40) + 1 / 40,
      12,
    );
  });

  it('is the fewest that detect the difference', () => {
    fc.assert(
      fc.property(
        deviation,
        fc.double({ min: 0.01, max: 10, noNaN: true }),
        (spread, difference) => {
          const count = questionsNeeded(spread, difference) ?? 0;

          expect(minimumDetectableEffect(spread, count)).toBeLessThanOrEqual(difference);
          if (count > 2)
            expect(minimumDetectableEffect(spread, count - 1)).toBeGreaterThan(difference);
        },
      ),
    );
  });

  it('is unknown for no difference, or where a billion are too few', () => {
    expect(questionsNeeded(1, 0)).toBeUndefined();
    expect(questionsNeeded(1, 1e-6)).toBeUndefined();
  });

  it('is two where nothing varies', () => {
    expect(questionsNeeded(0, 0.1)).toBe(2);
  });
});
