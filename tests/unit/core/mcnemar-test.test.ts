import { mcnemarTest } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const count = fc.nat(30);

describe("McNemar's exact test", () => {
  // Armitage and Berry (1994), page 127; https://www.statsdirect.com/help/chi_square_tests/mat.htm.
  it('matches a published value', () => {
    expect(mcnemarTest(12, 2)).toBeCloseTo(0.0129, 4);
  });

  it('is 1 without a pair that differs, or with as many on both sides', () => {
    expect([mcnemarTest(0, 0), mcnemarTest(7, 7)]).toEqual([1, 1]);
  });

  it('is exactly 1 where one side has one pair more than the other', () => {
    const values = Array.from({ length: 300 }, (_, few) => mcnemarTest(few, few + 1));

    expect(values.filter((value) => value !== 1)).toEqual([]);
  });

  it('is twice the tail of the binomial distribution, at most 1, whichever comes first', () => {
    fc.assert(
      fc.property(count, count, (first, second) => {
        const tail = Array.from({ length: Math.min(first, second) + 1 }, (_, index) =>
          choose(first + second, index),
        ).reduce((sum, each) => sum + each, 0);
        const expected = Math.min(1, (2 * tail) / 2 ** (first + second));

        expect(mcnemarTest(first, second)).toBeCloseTo(expected, 10);
        expect(mcnemarTest(second, first)).toBe(mcnemarTest(first, second));
      }),
    );
  });

  it('is known for more pairs than 2 to their power can be', () => {
    expect(mcnemarTest(2000, 2100)).toBeCloseTo(0.1222, 3);
  });
});

function choose(count: number, taken: number): number {
  return Array.from({ length: taken }).reduce<number>(
    (product, _, index) => (product * (count - index)) / (index + 1),
    1,
  );
}
