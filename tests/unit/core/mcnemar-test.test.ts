import { mcnemarTest } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mcnemarMidP } from '../../../packages/core/src/statistics/mcnemar-test.ts';

const count = fc.nat(30);
const CERTAIN = { p: 1, log10P: 0 };

describe("McNemar's exact test", () => {
  // Armitage and Berry (1994), page 127; https://www.statsdirect.com/help/chi_square_tests/mat.htm.
  it('matches a published value', () => {
    expect(mcnemarTest(12, 2).p).toBeCloseTo(0.0129, 4);
  });

  it('is 1 without a pair that differs, or with as many on both sides', () => {
    expect([mcnemarTest(0, 0), mcnemarTest(7, 7)]).toEqual([CERTAIN, CERTAIN]);
  });

  it('is exactly 1 where one side has one pair more than the other', () => {
    const values = Array.from({ length: 300 }, (_, few) => mcnemarTest(few, few + 1));

    expect(values.filter(({ p, log10P }) => p !== 1 || log10P !== 0)).toEqual([]);
  });

  it('is twice the tail of the binomial distribution, at most 1, whichever comes first', () => {
    fc.assert(
      fc.property(count, count, (first, second) => {
        const few = Math.min(first, second);
        const expected = Math.min(1, 2 * sharesOf(first + second, few));

        expect(mcnemarTest(first, second).p).toBeCloseTo(expected, 12);
        expect(mcnemarTest(second, first)).toEqual(mcnemarTest(first, second));
      }),
    );
  });

  it('is known for more pairs than 2 to their power can be', () => {
    expect(mcnemarTest(2000, 2100).p).toBeCloseTo(0.1222, 3);
  });

  it('is known by its logarithm where no number is small enough', () => {
    const { p, log10P } = mcnemarTest(0, 1400);

    expect(p).toBe(0);
    expect(log10P).toBeCloseTo(-1399 * Math.log10(2), 9);
  });

  it('falls as the sides move apart', () => {
    fc.assert(
      fc.property(fc.nat(2_000), fc.nat(2_000), (few, more) => {
        const closer = mcnemarTest(few + 1, few + more + 2).log10P;

        expect(mcnemarTest(few, few + more + 3).log10P).toBeLessThan(closer);
      }),
    );
  });
});

describe("McNemar's mid-p test", () => {
  // Fagerland, Lydersen and Laake (2013), table 1 and the text below it: airway hyper-responsiveness.
  it('matches a published value', () => {
    expect(mcnemarTest(1, 7).p).toBeCloseTo(0.07, 3);
    expect(mcnemarMidP(1, 7).p).toBeCloseTo(0.039, 3);
  });

  it('is 1 without a pair that differs', () => {
    expect(mcnemarMidP(0, 0)).toEqual(CERTAIN);
  });

  it('counts outcomes as likely as what was observed by half, whichever comes first', () => {
    fc.assert(
      fc.property(count, count, (first, second) => {
        fc.pre(first + second > 0);
        const all = Array.from({ length: first + second + 1 }, (_, index) => index);
        const expected = all
          .map((index) => {
            const distance = Math.abs(2 * index - first - second) - Math.abs(first - second);
            return distance < 0 ? 0 : term(first + second, index) / (distance === 0 ? 2 : 1);
          })
          .reduce((sum, each) => sum + each, 0);

        expect(mcnemarMidP(first, second).p).toBeCloseTo(expected, 12);
        expect(mcnemarMidP(second, first)).toEqual(mcnemarMidP(first, second));
        expect(mcnemarMidP(first, second).p).toBeLessThan(mcnemarTest(first, second).p);
      }),
    );
  });
});

/** The binomial distribution with probability 1/2, up to `most`. */
function sharesOf(trials: number, most: number): number {
  return Array.from({ length: most + 1 }, (_, index) => term(trials, index)).reduce(
    (sum, each) => sum + each,
    0,
  );
}

function term(trials: number, taken: number): number {
  return Array.from({ length: taken }).reduce<number>(
    (product, _, index) => (product * (trials - index)) / (index + 1),
    2 ** -trials,
  );
}
