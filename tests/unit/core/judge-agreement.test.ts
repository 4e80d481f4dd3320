import { cohenKappa, seededRandom } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bootstrapInterval } from '../../../packages/core/src/statistics/bootstrap-interval.ts';
import { fleissKappa } from '../../../packages/core/src/statistics/fleiss-kappa.ts';
import { flipRate } from '../../../packages/core/src/statistics/flip-rate.ts';
import { mean } from '../../../packages/core/src/statistics/mean.ts';
import { rankOrder } from '../../../packages/core/src/statistics/rank-order.ts';

/** Votes of as many raters on each item. */
const panels = fc.integer({ min: 2, max: 6 }).chain((raters) =>
  fc.array(
    fc.nat(raters).map((yes) => [yes, raters - yes] as const),
    { minLength: 1, maxLength: 30 },
  ),
);

describe("Fleiss' kappa", () => {
  // 14 raters, 10 items, 5 categories: https://en.wikipedia.org/wiki/Fleiss%27_kappa (2026-11), worked example.
  const published = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
  ];

  it('matches a published value', () => {
    expect(fleissKappa(published)).toBeCloseTo(0.21, 3);
    // 1 less the observed agreement, 0.378.
    expect(flipRate(published)).toBeCloseTo(1 - 0.378, 3);
  });

  it('is 1 for raters who agree on both answers, and undefined where every rating is the same', () => {
    expect(
      fleissKappa([
        [3, 0],
        [0, 3],
      ]),
    ).toBe(1);
    expect(
      fleissKappa([
        [3, 0],
        [3, 0],
      ]),
    ).toBeUndefined();
    expect(
      fleissKappa([
        [1, 0],
        [0, 1],
      ]),
    ).toBeUndefined();
    expect(fleissKappa([])).toBeUndefined();
  });

  it('leaves out items that fewer than two have rated', () => {
    expect(fleissKappa([...published, [1, 0, 0, 0, 0]])).toBe(fleissKappa(published));
  });

  it('follows its definition, and is at most 1, whatever the names of the categories are', () => {
    fc.assert(
      fc.property(panels, (items) => {
        const kappa = fleissKappa(items);

        const raters = (items[0]?.[0] ?? 0) + (items[0]?.[1] ?? 0);
        const observed = mean(
          items.map(([yes, no]) => (yes * (yes - 1) + no * (no - 1)) / (raters * (raters - 1))),
        );
        const share = (mean(items.map(([yes]) => yes)) ?? 0) / raters;
        const chance = share ** 2 + (1 - share) ** 2;
        if (kappa === undefined) expect(share * (1 - share)).toBe(0);
        else expect(kappa).toBeCloseTo(((observed ?? 0) - chance) / (1 - chance), 9);
        expect(kappa ?? 0).toBeLessThanOrEqual(1);
        const swapped = items.map(([yes, no]) => [no, yes]);
        expect(fleissKappa(swapped) ?? 0).toBeCloseTo(kappa ?? 0, 12);
      }),
    );
  });

  it("of two raters is never above Cohen's, which knows how often each says yes", () => {
    fc.assert(
      fc.property(
        fc.nat(40),
        fc.nat(40),
        fc.nat(40),
        fc.nat(40),
        (bothYes, first, second, bothNo) => {
          const votes = [
            ...Array.from({ length: bothYes }, () => [2, 0]),
            ...Array.from({ length: first + second }, () => [1, 1]),
            ...Array.from({ length: bothNo }, () => [0, 2]),
          ];
          const cohen = cohenKappa({ bothYes, onlyFirst: first, onlySecond: second, bothNo });

          const fleiss = fleissKappa(votes);

          if (cohen !== undefined && fleiss !== undefined)
            expect(fleiss).toBeLessThanOrEqual(cohen + 1e-9);
        },
      ),
    );
  });
});

describe('the flip rate', () => {
  it('is the share of pairs that differ, as counted one by one', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.boolean(), { maxLength: 6 }), { maxLength: 12 }),
        (items) => {
          const pairs = items.flatMap((votes) =>
            votes.flatMap((vote, index) => votes.slice(index + 1).map((other) => vote !== other)),
          );

          const rate = flipRate(
            items.map((votes) => {
              const yes = votes.filter((vote) => vote).length;
              return [yes, votes.length - yes];
            }),
          );

          if (pairs.length === 0) expect(rate).toBeUndefined();
          else expect(rate).toBe(pairs.filter((differs) => differs).length / pairs.length);
        },
      ),
    );
  });
});

describe('the bootstrap interval', () => {
  // Over all resamples, the sum of n zeros and ones is binomial: its quantiles at 2.5 and 97.5 %.
  it.each([
    [10, 20, 6, 14],
    [30, 100, 21, 39],
    [190, 200, 184, 196],
  ])('of a share, %d of %d, is that of the binomial distribution', (ones, count, lower, upper) => {
    const clusters = Array.from({ length: count }, (_, index) => [Number(index < ones)]);

    const interval = bootstrapInterval(clusters, mean, seededRandom('share')) ?? [0, 0];

    // A thousand resamples may miss a quantile by one.
    expect(Math.abs(interval[0] * count - lower)).toBeLessThanOrEqual(1);
    expect(Math.abs(interval[1] * count - upper)).toBeLessThanOrEqual(1);
  });

  it('is the same for the same random numbers, and ordered', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: -9, max: 9, noNaN: true }), { minLength: 2 }),
        fc.nat(),
        (values, seed) => {
          const clusters = values.map((value) => [value]);

          const [lower, upper] = bootstrapInterval(clusters, mean, seededRandom(seed)) ?? [1, 0];

          expect(lower).toBeLessThanOrEqual(upper);
          expect(bootstrapInterval(clusters, mean, seededRandom(seed))).toEqual([lower, upper]);
        },
      ),
      { numRuns: 20 },
    );
  });

  it('is wider where the items of a cluster say the same', () => {
    const random = seededRandom('clusters');
    const drawn = Array.from({ length: 50 }, () => Number(random() < 0.5));
    const repeated = drawn.map((value) => [value, value, value, value]);

    const widthOf = (clusters: readonly (readonly number[])[]) => {
      const [lower, upper] = bootstrapInterval(clusters, mean, seededRandom('width')) ?? [0, 0];
      return upper - lower;
    };

    expect(widthOf(repeated)).toBe(widthOf(drawn.map((value) => [value])));
    expect(widthOf(repeated)).toBeGreaterThan(
      1.7 * widthOf(repeated.flat().map((value) => [value])),
    );
  });

  it('is undefined for one cluster, and where no resample has the statistic', () => {
    expect(bootstrapInterval([[1, 2]], mean, seededRandom(1))).toBeUndefined();
    expect(bootstrapInterval([[1], []], mean, seededRandom(1))).toBeUndefined();
    expect(bootstrapInterval([[1], [2]], () => undefined, seededRandom(1))).toBeUndefined();
  });
});

describe('the rank order', () => {
  // As in https://en.wikipedia.org/wiki/Ranking ("1224" ranking).
  it('gives equal scores the same rank', () => {
    const scores = new Map(Object.entries({ a: 3, b: 7, c: 7, d: 9, e: 1 }));

    expect([...rankOrder(scores)]).toEqual([
      ['a', 4],
      ['b', 2],
      ['c', 2],
      ['d', 1],
      ['e', 5],
    ]);
  });

  it('ranks a higher score before a lower one', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 12 }), (values) => {
        const scores = new Map(values.map((value, index) => [String(index), value]));

        const ranks = rankOrder(scores);

        for (const [one, score] of scores)
          for (const [other, otherScore] of scores)
            expect((ranks.get(one) ?? 0) < (ranks.get(other) ?? 0)).toBe(score > otherScore);
      }),
    );
  });
});
