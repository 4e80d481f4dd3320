import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { auroc } from '../../packages/core/src/statistics/auroc.ts';
import { brierDecomposition } from '../../packages/core/src/statistics/brier-decomposition.ts';
import { brierScore } from '../../packages/core/src/statistics/brier-score.ts';
import { equalMassCalibrationError } from '../../packages/core/src/statistics/equal-mass-calibration-error.ts';
import { expectedCalibrationError } from '../../packages/core/src/statistics/expected-calibration-error.ts';
import type { Forecast } from '../../packages/core/src/statistics/forecasts.ts';
import { seededRandom } from '../../packages/core/src/statistics/seeded-random.ts';
import { askPython, hasPython, type Judgments, listDiffering } from '../support/ask-python.ts';
import { isRequired } from '../support/shared-data.ts';

/** @see https://pypi.org/project/scikit-learn/ */
const PACKAGES = ['numpy==2.4.6', 'scipy==1.17.1', 'scikit-learn==1.7.2'] as const;
const COUNT = 1_000;

type Input = readonly [confidences: readonly number[], outcomes: readonly number[]];
type Unknown = number | undefined;

const random = seededRandom('judged by scikit-learn');
const judged = new Map<
  string,
  { inputs: readonly Input[]; own: readonly (readonly Unknown[])[] }
>();

function judge(
  name: string,
  draw: () => Input,
  estimate: (forecasts: readonly Forecast[]) => readonly Unknown[],
): void {
  const inputs = Array.from({ length: COUNT }, draw);
  judged.set(name, { inputs, own: inputs.map((input) => estimate(forecastsOf(input))) });
}

judge(
  'brier',
  () => draw(1 + integer(300), percent),
  (forecasts) => [brierScore(forecasts)],
);
judge(
  'auroc',
  () => draw(2 + integer(300), percent),
  (forecasts) => [auroc(forecasts)],
);
judge(
  'equal width',
  // scikit-learn has an edge in the bin below it, so no confidence is one.
  () => draw(1 + integer(300), () => integer(100) / 100 + 0.005),
  (forecasts) => {
    const parts = brierDecomposition(forecasts);
    const error = expectedCalibrationError(forecasts);
    return [error, parts?.reliability, parts?.resolution, parts?.uncertainty];
  },
);
judge(
  'equal mass',
  // Where a bin would end within an answer, or between equal ones, scikit-learn makes bins of different sizes.
  () => draw(10 * (1 + integer(30)), random),
  (forecasts) => [equalMassCalibrationError(forecasts)],
);

describe.skipIf(!hasPython && !isRequired)('scikit-learn', () => {
  let judgments: Judgments = {};
  beforeAll(async () => {
    const inputs = Object.fromEntries([...judged].map(([name, each]) => [name, each.inputs]));
    const script = join(import.meta.dirname, 'judged-by-scikit-learn.py');
    judgments = await askPython(PACKAGES, script, inputs);
  }, 600_000);

  it.each([...judged])('agrees on 1,000 inputs: %s', (name, { own }) => {
    expect(own).toHaveLength(COUNT);
    expect(listDiffering(own, judgments[name], 1e-12)).toEqual([]);
  });
});

/** Answers with at least one right and one wrong among two or more. */
function draw(count: number, confidenceOf: () => number): Input {
  const confidences = Array.from({ length: count }, confidenceOf);
  const outcomes = confidences.map((confidence) => Number(random() < confidence));
  return [confidences, count < 2 ? outcomes : outcomes.with(0, 1).with(1, 0)];
}

function forecastsOf([confidences, outcomes]: Input): readonly Forecast[] {
  return confidences.map((confidence, index) => ({
    confidence,
    outcome: outcomes[index] ?? 0,
    count: 1,
  }));
}

function percent(): number {
  return integer(101) / 100;
}

function integer(below: number): number {
  return Math.floor(random() * below);
}
