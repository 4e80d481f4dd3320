import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clusteredInterval } from '../../../packages/core/src/statistics/clustered-interval.ts';
import {
  scoreInterval,
  scoreStandardError,
} from '../../../packages/core/src/statistics/score-interval.ts';
import { wilsonInterval } from '../../../packages/core/src/statistics/wilson-interval.ts';

const sumsOf = (scores: readonly number[]) => ({
  sum: scores.reduce((total, score) => total + score, 0),
  squares: scores.reduce((total, score) => total + score * score, 0),
  count: scores.length,
});
const graded = fc.array(fc.constantFrom(0, 1), { minLength: 1, maxLength: 200 });
const partial = fc.array(fc.constantFrom(0, 0.25, 0.5, 0.75, 1), { minLength: 2, maxLength: 200 });

describe('the interval of a score', () => {
  it("is Wilson's of scores that are right or wrong", () => {
    fc.assert(
      fc.property(graded, (scores) => {
        const { sum, count } = sumsOf(scores);
        expect(scoreInterval(sumsOf(scores))).toEqual(wilsonInterval(sum, count));
      }),
    );
  });

  it('is that of clusters of one value each where some credit is partial', () => {
    fc.assert(
      fc.property(partial, (scores) => {
        fc.pre(scores.some((score) => score !== 0 && score !== 1));
        const [lower = Number.NaN, upper = Number.NaN] =
          clusteredInterval(scores.map((sum) => ({ sum, count: 1 }))) ?? [];
        const [low = Number.NaN, high = Number.NaN] = scoreInterval(sumsOf(scores)) ?? [];
        expect([low, high]).toEqual([expect.closeTo(lower, 8), expect.closeTo(upper, 8)]);
      }),
    );
  });

  it('is narrower than that of as many answers that are right or wrong', () => {
    const halves = Array.from({ length: 100 }, (_, index) => [0.25, 0.5, 0.75][index % 3] ?? 0);

    const [low = 0, high = 1] = scoreInterval(sumsOf(halves)) ?? [];

    const [lower = 0, upper = 1] = wilsonInterval(50, 100) ?? [];
    expect(high - low).toBeLessThan(0.5 * (upper - lower));
  });

  it('of equal partial credits is that of as many trials, not a point', () => {
    expect(scoreInterval(sumsOf([0.5, 0.5, 0.5, 0.5]))).toEqual(wilsonInterval(2, 4));
  });

  it.each([
    ['no score', [], undefined],
    ['one score', [0.5], wilsonInterval(0.5, 1)],
  ])('of %s', (_, scores, expected) => {
    expect(scoreInterval(sumsOf(scores))).toEqual(expected);
    expect(scoreStandardError(sumsOf(scores))).toBeUndefined();
  });
});
