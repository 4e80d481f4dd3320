import { describe, expect, it } from 'vitest';
import { wilsonInterval } from '../../../packages/core/src/statistics/wilson-interval.ts';
import { expectBetween, testCoverage } from '../../support/interval-coverage.ts';
import { covers } from '../../support/simulated-questions.ts';

describe('of 30 questions', () => {
  testCoverage(30);
});

describe('the Wilson interval', () => {
  /** For scores 0.02, 0.021 ... 0.98: the exact chance that the interval contains it. */
  const coverages = (size: number) => {
    const intervals = Array.from({ length: size + 1 }, (_, hits) => wilsonInterval(hits, size));
    return Array.from({ length: 961 }, (_, step) => {
      const score = 0.02 + step / 1_000;
      return intervals.reduce(
        (sum, interval, hits) => sum + (covers(interval, score) ? binomial(size, hits, score) : 0),
        0,
      );
    });
  };

  it.each([300, 3_000])(
    'covers each score from 0.02 to 0.98 in 93 to 97 of 100 samples of %d cells',
    (size) => {
      for (const coverage of coverages(size)) expectBetween(coverage, 0.93, 0.97);
    },
  );

  it('covers them in 95 of 100 samples of 30 cells on average, one in ten scores in fewer than 93 or more than 97', () => {
    const each = coverages(30);

    expectBetween(each.reduce((sum, coverage) => sum + coverage, 0) / each.length, 0.95, 0.96);
    expectBetween(Math.min(...each), 0.917, 0.92);
    expectBetween(Math.max(...each), 0.98, 0.982);
    expect(each.filter((coverage) => coverage < 0.93 || coverage > 0.97).length).toBeLessThan(
      961 / 10,
    );
  });
});

/** By the ratio of successive terms, from the largest on, so that none is lost among many. */
function binomial(trials: number, hits: number, chance: number): number {
  let logarithm = 0;
  for (let index = 1; index <= hits; index += 1) {
    logarithm += Math.log((trials - hits + index) / index);
  }
  return Math.exp(logarithm + hits * Math.log(chance) + (trials - hits) * Math.log(1 - chance));
}
