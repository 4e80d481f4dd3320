import { describe, it } from 'vitest';
import { pairedBootstrap } from '../../packages/core/src/statistics/paired-bootstrap.ts';
import { pairedDifferences } from '../../packages/core/src/statistics/paired-difference.ts';
import { seededRandom } from '../../packages/core/src/statistics/seeded-random.ts';
import { expectBetween, testCoverage } from '../support/interval-coverage.ts';
import { covers, graded, rubric, shareOf } from '../support/simulated-questions.ts';

describe('of 300 questions', () => {
  testCoverage(300);
});

describe('of 3,000 questions', () => {
  testCoverage(3_000);
});

describe('the paired bootstrap of 30 questions', () => {
  it.each([
    graded('right or wrong', [0.6, 0.5], 0.8, 1),
    graded('3 replicates', [0.6, 0.5], 0.8, 3),
    rubric('scores in steps of 0.2', [0.6, 0.5]),
  ])('covers the truth in 93 to 97 % of 1,000 samples: $name', (population) => {
    const random = seededRandom('bootstrap');
    const truth = population.means[0] - population.means[1];

    const covered = shareOf(1_000, 30, population, random, (pairs) =>
      covers(pairedBootstrap(pairedDifferences(pairs), random), truth),
    );

    expectBetween(covered, 0.93, 0.97);
  });
});
