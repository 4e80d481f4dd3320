import { expect, it } from 'vitest';
import { clusteredInterval } from '../../packages/core/src/statistics/clustered-interval.ts';
import { mcnemarMidP, mcnemarTest } from '../../packages/core/src/statistics/mcnemar-test.ts';
import { minimumDetectableEffect } from '../../packages/core/src/statistics/minimum-detectable-effect.ts';
import {
  type Pair,
  pairedDifference,
} from '../../packages/core/src/statistics/paired-difference.ts';
import { scoreInterval } from '../../packages/core/src/statistics/score-interval.ts';
import { seededRandom } from '../../packages/core/src/statistics/seeded-random.ts';
import { covers, graded, type Population, rubric, shareOf, timed } from './simulated-questions.ts';

const SAMPLES = 10_000;

const ONE = graded('right or wrong, easy and hard', [0.6, 0.5], 0.8, 1);
const THREE = graded('3 replicates, easy and hard', [0.6, 0.5], 0.8, 3);
const REPEATED = graded('3 replicates that repeat each other', [0.6, 0.5], 0.8, 3, true);
const EQUAL = graded('3 replicates', [0.7, 0.7], 0.6, 3);

const scored: readonly Population[] = [
  graded('right or wrong, all as hard', [0.6, 0.5], 0, 1),
  ONE,
  graded('3 replicates, all as hard', [0.6, 0.5], 0, 3),
  THREE,
  REPEATED,
  graded('3 replicates, mostly right', [0.85, 0.8], 0.3, 3),
  rubric('scores in steps of 0.2', [0.6, 0.5]),
];
const equal: readonly Population[] = [
  graded('right or wrong', [0.7, 0.7], 0.6, 1),
  EQUAL,
  graded('mostly right', [0.9, 0.9], 0.2, 1),
];

/**
 * Tests with simulated questions that intervals cover the truth as often as they say, and that tests accuse as rarely as they say.
 *
 * @param size - The questions of a sample. With more than a thousand, what hardly depends on their number is left out.
 */
export function testCoverage(size: number): void {
  const random = seededRandom('coverage', size);

  it.each(size > 1_000 ? [ONE, THREE, REPEATED] : scored)(
    'the intervals cover the truth in 93 to 97 %: $name',
    (population) => {
      const [first, second] = population.means;
      let clustered = 0;

      const paired = shareOf(SAMPLES, size, population, random, (pairs) => {
        if (covers(clusteredInterval(pairs.map((pair) => pair.first)), first)) clustered += 1;
        return covers(pairedDifference(pairs, 1)?.interval, first - second);
      });

      expectBetween(paired, 0.93, 0.97);
      expectBetween(clustered / SAMPLES, 0.93, 0.97);
    },
  );

  it.each(size > 1_000 ? [EQUAL] : equal)(
    'false alarms of the paired difference are 4 to 6 %: $name',
    (population) => {
      const alarms = shareOf(SAMPLES, size, population, random, (pairs) =>
        isBelowLevel(pairedDifference(pairs, 1)?.pValue?.p),
      );

      expectBetween(alarms, 0.04, 0.06);
    },
  );

  it('the smallest detectable effect is detected in 78 to 82 %', () => {
    // Both are right by chance: the variance of a difference is the sum of a(1 - a) and b(1 - b).
    const share = (effect: number) => [0.5 + effect / 2, 0.5 - effect / 2] as const;
    const effect = minimumDetectableEffect(Math.sqrt(0.5 / 3), size);
    const deviation = Math.sqrt((0.5 - effect ** 2 / 2) / 3);
    const planned = minimumDetectableEffect(deviation, size);
    const population = graded('3 replicates', share(planned), 0, 3);

    const detected = shareOf(SAMPLES, size, population, random, (pairs) =>
      isBelowLevel(pairedDifference(pairs, 1)?.pValue?.p),
    );

    expectBetween(detected, 0.78, 0.82);
  });
  if (size <= 1_000) testSmallSamples(size, random);
}

function testSmallSamples(size: number, random: () => number): void {
  it('the paired interval of a metric with a long tail covers the truth in 93 to 97 %', () => {
    const population = timed('seconds');
    const [first, second] = population.means;

    const covered = shareOf(SAMPLES, size, population, random, (pairs) =>
      covers(pairedDifference(pairs)?.interval, first - second),
    );

    expectBetween(covered, 0.93, 0.97);
  });

  it('the interval of one replicate with partial credit covers the truth in 93 to 97 %', () => {
    const population = rubric('scores in steps of 0.2', [0.6, 0.5]);

    const covered = shareOf(SAMPLES, size, population, random, (pairs) => {
      const scores = pairs.map(({ first }) => first.sum);
      return covers(scoreInterval(sumsOf(scores)), population.means[0]);
    });

    expectBetween(covered, 0.93, 0.97);
  });

  it("false alarms of McNemar's tests are at most 6 %, fewer of the exact one", () => {
    const population = graded('right or wrong', [0.7, 0.7], 0.6, 1);
    let midP = 0;

    const exact = shareOf(SAMPLES, size, population, random, (pairs) => {
      const counts = changesOf(pairs);
      if (isBelowLevel(mcnemarMidP(...counts).p)) midP += 1;
      return isBelowLevel(mcnemarTest(...counts).p);
    });

    expectBetween(midP / SAMPLES, 0.03, 0.06);
    expectBetween(exact, 0.01, midP / SAMPLES);
  });
}

function sumsOf(scores: readonly number[]) {
  const sum = scores.reduce((total, score) => total + score, 0);
  const squares = scores.reduce((total, score) => total + score * score, 0);
  return { sum, squares, count: scores.length };
}

function changesOf(pairs: readonly Pair[]): [onlyFirst: number, onlySecond: number] {
  return [
    pairs.filter(({ first, second }) => first.sum > second.sum).length,
    pairs.filter(({ first, second }) => first.sum < second.sum).length,
  ];
}

function isBelowLevel(p: number | undefined): boolean {
  return p !== undefined && p < 0.05;
}

/** Both included. */
export function expectBetween(value: number, least: number, most: number): void {
  expect(value).toBeGreaterThanOrEqual(least);
  expect(value).toBeLessThanOrEqual(most);
}
