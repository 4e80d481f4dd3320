import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { normalShare } from '../../../packages/core/src/statistics/normal-share.ts';
import { pairedBootstrap } from '../../../packages/core/src/statistics/paired-bootstrap.ts';
import { pairedPermutation } from '../../../packages/core/src/statistics/paired-permutation.ts';
import { seededRandom } from '../../../packages/core/src/statistics/seeded-random.ts';
import { signTest } from '../../../packages/core/src/statistics/sign-test.ts';

type Values = readonly number[];

const thirds = fc.integer({ min: -3, max: 3 }).map((value) => value / 3);
/** Darwin's plants, in eighths of an inch: the differences of 15 pairs. Fisher (1935), The Design of Experiments, table 3. */
const DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48] as const;

describe('the paired permutation test', () => {
  it('matches the published example', () => {
    // Fisher (1935), section 21: of the 32,768 patterns 835 have a sum as high, and 28 have the same.
    expect(pairedPermutation(DARWIN, noRandom)).toBe((2 * (835 + 28)) / 32_768);
  });

  it('is the share of all patterns of signs, up to 20 differences', () => {
    fc.assert(
      fc.property(fc.array(thirds, { maxLength: 8 }), (differences) => {
        const observed = Math.abs(sumOf(differences));
        const sums = differences.reduce<Values>(
          (all, each) => all.flatMap((sum) => [sum + each, sum - each]),
          [0],
        );
        const extreme = sums.filter((sum) => Math.abs(sum) >= observed - 1e-9).length;

        expect(pairedPermutation(differences, noRandom)).toBeCloseTo(extreme / sums.length, 12);
      }),
    );
  });

  it('counts a million patterns without losing equal sums', () => {
    const equal = Array.from({ length: 20 }, () => 1 / 3);

    expect(pairedPermutation(equal, noRandom)).toBe(2 / 2 ** 20);
  });

  it('is 1 where no question differs', () => {
    expect(pairedPermutation([], noRandom)).toBe(1);
    expect(pairedPermutation([0, 0, 0], noRandom)).toBe(1);
  });

  it('comes close to the exact test from random patterns, and is never 0', () => {
    const differences = Array.from({ length: 60 }, (_, index) => (index % 5 < 3 ? 1 : -1));

    // 36 of 60 ones: the sign test is exact for them.
    const expected = signTest(differences).p;
    const repeats = Array.from({ length: 20 }, (_, seed) =>
      pairedPermutation(differences, seededRandom('repeat', seed)),
    );

    // 20 times 10,000 patterns: four standard errors are 0.003.
    expect(Math.abs(sumOf(repeats) / 20 - expected)).toBeLessThan(0.003);
    expect(
      pairedPermutation(
        Array.from({ length: 99 }, () => 1),
        seededRandom('same'),
      ),
    ).toBe(1 / 10_001);
  });

  it('gives the same for the same seed, with the configs in either order', () => {
    fc.assert(
      fc.property(fc.array(thirds, { maxLength: 50 }), fc.string(), (differences, seed) => {
        const reversed = differences.map((difference) => -difference);
        const [p, other] = [differences, reversed].map((each) =>
          pairedPermutation(each, seededRandom(seed)),
        );

        expect(other).toBe(p);
        expect(p).toBeGreaterThan(0);
        expect(p).toBeLessThanOrEqual(1);
      }),
      { numRuns: 50 },
    );
  });
});

describe('the paired bootstrap', () => {
  it('takes the quantiles of the means of all resamples, a little further out', () => {
    const differences = [-1, 0, 0.5, 1];
    const means = differences
      .flatMap((a) => differences.map((b) => a + b))
      .flatMap((sum) => differences.map((c) => sum + c))
      .flatMap((sum) => differences.map((d) => (sum + d) / 4))
      .toSorted((left, right) => left - right);

    const [lower, upper] = boundsOf(differences);

    // Of 256 equally likely resamples: beyond -sqrt(4/3) x 3.1824 standard deviations is 0.012 %, so the outermost.
    expect([lower, upper]).toEqual([means[0], means[255]]);
  });

  it('is close to the t interval where there are many questions', () => {
    const random = seededRandom('many');
    const differences = Array.from({ length: 2_000 }, () => Math.floor(random() * 3) - 1);
    const center = sumOf(differences) / 2_000;
    const half =
      1.96 * Math.sqrt(sumOf(differences.map((each) => (each - center) ** 2)) / 2_000 / 2_000);

    const [lower, upper] = boundsOf(differences);

    // Bounds of 10,000 resamples vary by about 2 % of half the width.
    expect(Math.abs(lower - (center - half))).toBeLessThan(0.08 * half);
    expect(Math.abs(upper - (center + half))).toBeLessThan(0.08 * half);
  });

  it('lies between the extremes, moves with the values, and is the same for the same seed', () => {
    fc.assert(
      fc.property(
        fc.array(thirds, { minLength: 2, maxLength: 30 }),
        fc.integer({ min: -5, max: 5 }),
        (differences, by) => {
          const [lower, upper] = boundsOf(differences);
          const [movedLower, movedUpper] = boundsOf(differences.map((each) => each + by));

          expect(lower).toBeGreaterThanOrEqual(Math.min(...differences) - 1e-9);
          expect(upper).toBeLessThanOrEqual(Math.max(...differences) + 1e-9);
          expect(lower).toBeLessThanOrEqual(upper);
          expect(movedLower).toBeCloseTo(lower + by, 9);
          expect(movedUpper).toBeCloseTo(upper + by, 9);
          expect(boundsOf(differences)).toEqual([lower, upper]);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('is unknown for fewer than two questions, and a point where all are equal', () => {
    expect(pairedBootstrap([], noRandom)).toBeUndefined();
    expect(pairedBootstrap([1], noRandom)).toBeUndefined();
    expect(boundsOf([0.25, 0.25, 0.25])).toEqual([0.25, 0.25]);
  });
});

describe('the sign test', () => {
  it('is the exact one of the differences other than 0', () => {
    // Fisher (1935), section 21, data: 13 of 15 plants are higher; 2 (1 + 15 + 105) / 2^15.
    expect(signTest(DARWIN).p).toBeCloseTo(242 / 32_768, 12);
    expect(signTest([...DARWIN, 0, 0]).p).toBe(signTest(DARWIN).p);
  });

  it('does not depend on how large differences are, or on their order', () => {
    fc.assert(
      fc.property(fc.array(thirds), fc.double({ min: 0.1, max: 9, noNaN: true }), (values, by) => {
        expect(signTest(values.map((value) => -value * by))).toEqual(signTest(values));
      }),
    );
  });

  it('is 1 without a difference', () => {
    expect([signTest([]).p, signTest([0, 0]).p]).toEqual([1, 1]);
  });
});

describe('the share below a normal value', () => {
  // Abramowitz, Stegun (1964), table 26.1.
  it.each([
    [0, 0.5],
    [1, 0.841344746068543],
    [1.96, 0.975002104851779],
    [-3, 0.00134989803163],
  ])('is the published one at %d', (z, share) => {
    expect(normalShare(z)).toBeCloseTo(share, 14);
  });
});

function noRandom(): number {
  throw new Error('the exact test needs no random numbers');
}

function boundsOf(differences: Values): readonly [number, number] {
  return pairedBootstrap(differences, seededRandom('bounds')) ?? [Number.NaN, Number.NaN];
}

function sumOf(values: Values): number {
  return values.reduce((sum, value) => sum + value, 0);
}
