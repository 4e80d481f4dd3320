import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { seededRandom } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { auroc } from '../../../packages/core/src/statistics/auroc.ts';
import { brierDecomposition } from '../../../packages/core/src/statistics/brier-decomposition.ts';
import { brierInterval } from '../../../packages/core/src/statistics/brier-interval.ts';
import { brierScore } from '../../../packages/core/src/statistics/brier-score.ts';
import { binOf } from '../../../packages/core/src/statistics/calibration-bins.ts';
import { eceInterval } from '../../../packages/core/src/statistics/ece-interval.ts';
import { effectiveTrials } from '../../../packages/core/src/statistics/effective-trials.ts';
import { equalMassCalibrationError } from '../../../packages/core/src/statistics/equal-mass-calibration-error.ts';
import { expectedCalibrationError } from '../../../packages/core/src/statistics/expected-calibration-error.ts';
import type { Forecast } from '../../../packages/core/src/statistics/forecasts.ts';
import { hleCalibrationError } from '../../../packages/core/src/statistics/hle-calibration-error.ts';
import { mean } from '../../../packages/core/src/statistics/mean.ts';
import { coverageOf, statingModels } from '../../support/calibration-draws.ts';
import { hasSharedData, sharedDataDir } from '../../support/shared-data.ts';

type Answers = readonly (readonly [confidence: number, outcome: number])[];

const forecastsOf = (answers: Answers): readonly Forecast[] =>
  answers.map(([confidence, outcome]) => ({ confidence, outcome, count: 1 }));
const zip = (confidences: readonly number[], outcomes: readonly number[]): readonly Forecast[] =>
  forecastsOf(confidences.map((confidence, index) => [confidence, outcomes[index] ?? 0]));
const repeated = (confidence: number, right: number, wrong: number): readonly Forecast[] =>
  [
    { confidence, outcome: 1, count: right },
    { confidence, outcome: 0, count: wrong },
  ].filter(({ count }) => count > 0);

const ratios = fc.oneof(
  fc.constantFrom(0, 0.5, 0.9, 0.95, 1),
  fc.double({ min: 0, max: 1, noNaN: true }),
);
const answersWith = (outcomes: fc.Arbitrary<number>) =>
  fc.array(fc.tuple(ratios, outcomes), { minLength: 1, maxLength: 40 });
const anyAnswers = answersWith(fc.oneof(fc.constantFrom(0, 1), ratios));
const gradedAnswers = answersWith(fc.constantFrom(0, 1));

const estimators = {
  brierScore,
  expectedCalibrationError,
  equalMassCalibrationError,
  hleCalibrationError,
  auroc,
};
const intervals = [
  ['the Brier score', brierInterval, brierScore],
  ['the ECE', eceInterval, expectedCalibrationError],
] as const;

describe('every estimator of calibration', () => {
  it('is undefined without an answer', () => {
    for (const estimate of Object.values(estimators)) expect(estimate([])).toBeUndefined();
    expect(brierDecomposition([])).toBeUndefined();
    expect(brierInterval([])).toBeUndefined();
    expect(eceInterval([])).toBeUndefined();
  });

  it('is within 0..1, and the same for any order and for counts', () => {
    const shuffled = anyAnswers.chain((answers) =>
      fc.tuple(
        fc.constant(answers),
        fc.shuffledSubarray([...answers], { minLength: answers.length }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([answers, others]) => {
        for (const estimate of Object.values(estimators)) {
          const value = estimate(forecastsOf(answers));

          if (value === undefined) continue;
          expect(value).toBeGreaterThanOrEqual(0);
          expect(value).toBeLessThanOrEqual(1 + 1e-12);
          expect(estimate(forecastsOf(others))).toBeCloseTo(value, 12);
          const twice = forecastsOf(answers).map((each) => ({ ...each, count: 2 }));
          expect(estimate(twice)).toBeCloseTo(value, 12);
          expect(estimate(forecastsOf([...answers, ...others]))).toBeCloseTo(value, 12);
        }
      }),
    );
  });

  it('knows one answer, and answers that are all the same', () => {
    for (const forecasts of [forecastsOf([[0.9, 1]]), repeated(0.9, 7, 0)]) {
      expect(brierScore(forecasts)).toBeCloseTo(0.01, 12);
      expect(expectedCalibrationError(forecasts)).toBeCloseTo(0.1, 12);
      expect(equalMassCalibrationError(forecasts)).toBeCloseTo(0.1, 12);
      expect(hleCalibrationError(forecasts)).toBeUndefined();
      expect(auroc(forecasts)).toBeUndefined();
      const parts = brierDecomposition(forecasts);
      expect(parts).toMatchObject({ resolution: 0, uncertainty: 0 });
      expect(parts?.reliability).toBeCloseTo(0.01, 12);
      expect(parts?.withinBins).toBeCloseTo(0, 12);
    }
  });
});

describe('the Brier score', () => {
  it('matches a published value', () => {
    // https://scikit-learn.org/stable/modules/generated/sklearn.metrics.brier_score_loss.html (2026-11), example.
    expect(brierScore(zip([0.1, 0.9, 0.8, 0.3], [0, 1, 1, 0]))).toBeCloseTo(0.0375, 12);
  });

  it('becomes worse with every answer that is certain and wrong', () => {
    fc.assert(
      fc.property(anyAnswers, (answers) => {
        const before = brierScore(forecastsOf(answers)) ?? 1;

        const after = brierScore(forecastsOf([...answers, [1, 0]])) ?? 0;

        expect(after).toBeGreaterThanOrEqual(before);
      }),
    );
  });
});

describe('the decomposition of the Brier score', () => {
  it('follows its definition over the bins', () => {
    // Two bins of two answers: .7 and .9 stated, 0.5 and 1 of them right.
    const parts = brierDecomposition(zip([0.7, 0.7, 0.9, 0.9], [1, 0, 1, 1]));

    expect(parts?.reliability).toBeCloseTo((0.2 ** 2 + 0.1 ** 2) / 2, 12);
    expect(parts?.resolution).toBeCloseTo(0.25 ** 2, 12);
    expect(parts?.uncertainty).toBeCloseTo(0.75 * 0.25, 12);
    expect(parts?.withinBins).toBeCloseTo(0, 12);
  });

  it('adds up to the Brier score, also of scores that are fractions', () => {
    fc.assert(
      fc.property(anyAnswers, (answers) => {
        const forecasts = forecastsOf(answers);

        const parts = brierDecomposition(forecasts);

        if (parts === undefined) throw new Error('expected parts');
        const { reliability, resolution, uncertainty, withinBins } = parts;
        expect(reliability - resolution + uncertainty + withinBins).toBeCloseTo(
          brierScore(forecasts) ?? -1,
          12,
        );
        for (const part of [reliability, resolution, uncertainty])
          expect(part).toBeGreaterThanOrEqual(0);
        expect(resolution).toBeLessThanOrEqual(uncertainty + 1e-12);
      }),
    );
  });

  it('has nothing within bins where each has one confidence', () => {
    const tenths = fc.integer({ min: 0, max: 10 }).map((tenth) => tenth / 10);
    // 1 shares its bin with 0.9.
    const apart = tenths.filter((ratio) => ratio !== 0.9);
    fc.assert(
      fc.property(fc.array(fc.tuple(apart, ratios), { minLength: 1 }), (answers) => {
        expect(brierDecomposition(forecastsOf(answers))?.withinBins).toBeCloseTo(0, 12);
      }),
    );
  });
});

describe('the bin of a confidence', () => {
  it('of the last number below 0.9 is not that of 0.9, though ten times both is 9', () => {
    expect([binOf(0.8999999999999999), binOf(0.9), binOf(1)]).toEqual([8, 9, 9]);
  });

  it('is that of the definition, up to the last bit of an edge', () => {
    const nearEdge = fc
      .tuple(fc.nat(20), fc.integer({ min: 1, max: 20 }), fc.integer({ min: -2, max: 2 }))
      .map(([part, bins, ulps]) => Math.min(1, part / bins) * (1 + ulps * Number.EPSILON))
      .filter((confidence) => confidence <= 1);
    fc.assert(
      fc.property(
        fc.oneof(nearEdge, ratios),
        fc.integer({ min: 1, max: 20 }),
        (confidence, bins) => {
          const expected = Array.from({ length: bins }, (_, bin) => bin).findLast(
            (bin) => bin / bins <= confidence,
          );

          expect(binOf(confidence, bins)).toBe(expected);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('the expected calibration error', () => {
  it('matches a published value', () => {
    // https://scikit-learn.org/stable/modules/generated/sklearn.calibration.calibration_curve.html (2026-11), example:
    // right [0, 0.5, 1], stated [0.2, 0.525, 0.85], of 3, 2 and 4 answers.
    const forecasts = zip(
      [0.1, 0.2, 0.3, 0.4, 0.65, 0.7, 0.8, 0.9, 1],
      [0, 0, 0, 0, 1, 1, 1, 1, 1],
    );

    expect(expectedCalibrationError(forecasts, 3)).toBeCloseTo(
      (3 * 0.2 + 2 * 0.025 + 4 * 0.15) / 9,
      12,
    );
  });

  it('is at least the overall gap, at most the mean distance, and its square is at most the Brier score', () => {
    fc.assert(
      fc.property(anyAnswers, (answers) => {
        const forecasts = forecastsOf(answers);
        const gaps = answers.map(([confidence, outcome]) => confidence - outcome);

        for (const estimate of [expectedCalibrationError, equalMassCalibrationError]) {
          const error = estimate(forecasts) ?? -1;

          expect(error).toBeGreaterThanOrEqual(Math.abs(mean(gaps) ?? 0) - 1e-12);
          expect(error).toBeLessThanOrEqual((mean(gaps.map(Math.abs)) ?? 0) + 1e-12);
          expect(error ** 2).toBeLessThanOrEqual((brierScore(forecasts) ?? 0) + 1e-12);
        }
      }),
    );
  });

  it.each<[string, Answers, number]>([
    // Halves of ten: .0 to .4 wrong, .5 to .9 right; each bin has one answer.
    [
      'ten answers, a bin each',
      Array.from({ length: 10 }, (_, tenth) => [tenth / 10, Number(tenth > 4)] as const),
      0.25,
    ],
    // Twenty answers, two in a bin: the wrong one of .9 is spread over the bins of its confidence.
    [
      'answers of one confidence, whose order says nothing',
      Array.from({ length: 20 }, (_, at) => [0.9, Number(at > 0)] as const),
      0.05,
    ],
  ])('of equal mass follows its definition for %s', (_, answers, expected) => {
    expect(equalMassCalibrationError(forecastsOf(answers))).toBeCloseTo(expected, 12);
  });

  it('of equal mass is that of answers that are cut one by one', () => {
    fc.assert(
      fc.property(anyAnswers, (answers) => {
        // Ten copies of each answer, with the mean outcome of its confidence, make ten bins of whole answers.
        const copies = answers
          .flatMap(([confidence]) => {
            const outcomes = answers.filter(([other]) => other === confidence);
            const outcome = mean(outcomes.map(([, each]) => each)) ?? 0;
            return Array.from({ length: 10 }, () => [confidence, outcome] as const);
          })
          .sort(([left], [right]) => left - right);
        const bins = Array.from({ length: 10 }, (_, bin) =>
          copies.slice(bin * answers.length, (bin + 1) * answers.length),
        );
        const gaps = bins.map((bin) =>
          Math.abs(mean(bin.map(([confidence, outcome]) => confidence - outcome)) ?? 0),
        );

        expect(equalMassCalibrationError(forecastsOf(answers))).toBeCloseTo(mean(gaps) ?? -1, 12);
      }),
    );
  });
});

describe("the calibration error of Humanity's Last Exam", () => {
  /** The script's loop, on answers in the order in which it has sorted them. */
  function scriptOn(sorted: Answers): number {
    const binCount = Math.floor(sorted.length / 100);
    let squares = 0;
    // All bins but the last one.
    for (let bin = 0; bin < binCount - 1; bin += 1) {
      const part = sorted.slice(bin * 100, (bin + 1) * 100);
      const stated = mean(part.map(([confidence]) => confidence)) ?? 0;
      const right = mean(part.map(([, outcome]) => outcome)) ?? 0;
      squares += (part.length / sorted.length) * (stated - right) ** 2;
    }
    return Math.sqrt(squares);
  }

  const drawn = (count: number, random: () => number, confidenceOf: () => number): Answers =>
    Array.from({ length: count }, () => {
      const confidence = confidenceOf();
      return [confidence, Number(random() < confidence / 2)] as const;
    });

  it.each([200, 299, 300, 1_234])('is that of the script for %d answers without ties', (count) => {
    const random = seededRandom('hle', count);
    const answers = drawn(count, random, random);

    const error = hleCalibrationError(forecastsOf(answers));

    const sorted = answers.toSorted(([left], [right]) => left - right);
    expect(error).toBeCloseTo(scriptOn(sorted), 12);
  });

  it('is the root mean square of the script over both orders of two answers at the end of a bin', () => {
    const below = Array.from({ length: 99 }, (_, index) => [index / 200, 0] as const);
    const above = Array.from({ length: 150 }, () => [0.9, 1] as const);
    const orders: readonly Answers[] = [
      [...below, [0.6, 1], [0.6, 0], ...above],
      [...below, [0.6, 0], [0.6, 1], ...above],
    ];

    const [first = [], ...others] = orders;
    const error = hleCalibrationError(forecastsOf(first)) ?? -1;

    const squares = [first, ...others].map((sorted) => scriptOn(sorted) ** 2);
    expect(error).toBeCloseTo(Math.sqrt(mean(squares) ?? 0), 12);
  });

  it('is the root mean square of the script over the orders of equal confidences', () => {
    const random = seededRandom('hle ties');
    const levels = [0.5, 0.8, 0.9, 0.95];
    const answers = drawn(450, random, () => levels[Math.floor(random() * 4)] ?? 0);

    const error = hleCalibrationError(forecastsOf(answers)) ?? -1;

    const squares = Array.from({ length: 4_000 }, () => {
      const keyed = answers.map((answer) => ({ answer, key: answer[0] + random() / 1_000 }));
      keyed.sort((left, right) => left.key - right.key);
      return scriptOn(keyed.map(({ answer }) => answer)) ** 2;
    });
    expect(error).toBeCloseTo(Math.sqrt(mean(squares) ?? 0), 3);
    // Sorted with the right ones first, which is an order as good as any, the script has another figure.
    const rightFirst = answers.toSorted(
      ([left, right], [other, otherRight]) => left - other || otherRight - right,
    );
    expect(Math.abs(scriptOn(rightFirst) - error)).toBeGreaterThan(0.01);
  });

  it('leaves out the most confident answers, as the script does', () => {
    const forecasts = [...repeated(0.5, 50, 50), ...repeated(1, 0, 199)];

    // Of 199 answers that are certain and wrong, the script sees none.
    expect(hleCalibrationError(forecasts)).toBe(0);
    expect(expectedCalibrationError(forecasts)).toBeCloseTo(199 / 299, 12);
  });

  it('is unknown where the script has no bin left', () => {
    expect(hleCalibrationError(repeated(0.9, 100, 99))).toBeUndefined();
    expect(hleCalibrationError(repeated(0.9, 100, 100))).toBeGreaterThan(0.28);
  });
});

describe('the area under the ROC curve of confidence', () => {
  it('matches a published value', () => {
    // https://scikit-learn.org/stable/modules/generated/sklearn.metrics.roc_auc_score.html (2026-11): y = [0, 0, 1, 1].
    expect(auroc(zip([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]))).toBe(0.75);
  });

  it('is the share of pairs in the right order, as counted one by one', () => {
    fc.assert(
      fc.property(gradedAnswers, (answers) => {
        const right = answers.filter(([, outcome]) => outcome === 1);
        const wrong = answers.filter(([, outcome]) => outcome === 0);
        const pairs = right.flatMap(([high]) => wrong.map(([low]) => Math.sign(high - low)));

        const area = auroc(forecastsOf(answers));

        if (pairs.length === 0) expect(area).toBeUndefined();
        else expect(area).toBeCloseTo((1 + (mean(pairs) ?? 0)) / 2, 12);
      }),
    );
  });

  it('stays as it is where confidences grow by a rule, and turns around with the outcomes', () => {
    fc.assert(
      fc.property(gradedAnswers, (answers) => {
        // A rule that keeps doubles apart.
        const grown = answers.map(([confidence, outcome]) => [confidence / 2, outcome] as const);
        const turned = answers.map(([confidence, outcome]) => [confidence, 1 - outcome] as const);
        fc.pre(answers.every(([confidence]) => confidence === 0 || confidence > 1e-300));

        const area = auroc(forecastsOf(answers));

        expect(auroc(forecastsOf(grown))).toBe(area);
        if (area !== undefined) expect(auroc(forecastsOf(turned))).toBeCloseTo(1 - area, 12);
      }),
    );
  });

  it('takes an answer that is partly right for one that is not', () => {
    expect(auroc(zip([0.9, 0.5], [1, 0.5]))).toBe(1);
    expect(auroc(zip([0.9, 0.5], [0.7, 0.5]))).toBeUndefined();
  });
});

describe.each(intervals)('the interval of %s', (_, interval, estimate) => {
  it('is in order, within 0..1, and has the estimate in it', () => {
    fc.assert(
      fc.property(gradedAnswers, fc.nat(3), (answers, zeros) => {
        const forecasts = forecastsOf(answers).map((each) => ({ ...each, count: 10 ** zeros }));

        const [lower, upper] = interval(forecasts) ?? [1, 0];

        const value = estimate(forecasts) ?? -1;
        expect(lower).toBeGreaterThanOrEqual(0);
        expect(lower).toBeLessThanOrEqual(value + 1e-12);
        expect(upper).toBeGreaterThanOrEqual(value - 1e-12);
        expect(upper).toBeLessThanOrEqual(1);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is wider for answers that are worth fewer trials', () => {
    const forecasts = [...repeated(0.95, 70, 20), ...repeated(0.6, 40, 30)];
    const widthOf = (trials?: number) => {
      const [lower, upper] = interval(forecasts, trials) ?? [0, 0];
      return upper - lower;
    };

    expect(widthOf()).toBe(widthOf(160));
    expect(widthOf(80)).toBeGreaterThan(1.2 * widthOf());
    expect(widthOf(40)).toBeGreaterThan(1.2 * widthOf(80));
  });
});

describe('the intervals of simulated models', () => {
  // At greater length in tests/long/calibration-coverage.test.ts.
  const [one, , few, , , hard] = statingModels;

  it.each([one, few, hard].flatMap((model) => (model ? [[model.name, model] as const] : [])))(
    'hold in 95 of 100 cases, more often at most: %s',
    (_, model) => {
      for (const questions of [30, 300]) {
        const { brier, ece } = coverageOf({ model, questions, draws: 1_000 });

        expect(brier).toBeGreaterThan(0.93);
        expect(ece).toBeGreaterThan(0.93);
      }
    },
  );
});

describe('the interval of the Brier score', () => {
  it('of answers that are all certain is that of a proportion by Agresti and Coull', () => {
    // 18 of 20: (18 + 2) / 24, which is 0.8333 +- 0.1491.
    const [lower, upper] = brierInterval(repeated(1, 18, 2)) ?? [0, 0];

    const half = 1.959963984540054 * Math.sqrt((20 / 24) * (4 / 24) * (1 / 24));
    expect(lower).toBeCloseTo(4 / 24 - half, 12);
    expect(upper).toBeCloseTo(4 / 24 + half, 12);
  });
});

describe('the interval of the ECE', () => {
  it('begins at 0 where confidences are right, and above it where they are clearly wrong', () => {
    const calibrated = [...repeated(0.6, 60, 40), ...repeated(0.9, 90, 10)];

    expect(eceInterval(calibrated)?.[0]).toBe(0);
    expect(eceInterval([...repeated(0.95, 60, 40)])?.[0]).toBeGreaterThan(0.2);
  });

  it('of one confidence that is far off is that of its mean', () => {
    const [lower, upper] = eceInterval(repeated(1, 900, 100)) ?? [0, 0];

    expect([lower, upper]).toEqual(brierInterval(repeated(1, 900, 100)));
  });
});

describe('effective trials', () => {
  const clusters = (values: readonly (readonly number[])[]) =>
    values.map((each) => ({
      sum: each.reduce((sum, value) => sum + value, 0),
      count: each.length,
    }));

  it('are those of the standard error, lowered for few clusters, and the clusters that do not differ', () => {
    // Sample variance 1/3 of 4 values, population variance 1/4; and the 97.5 % points of the normal and of t with 3 degrees.
    expect(
      effectiveTrials(
        clusters([
          [1, 1],
          [0, 0],
          [1, 1],
          [0, 0],
        ]),
        0.25,
      ),
    ).toBeCloseTo(3 * (1.959964 / 3.182446) ** 2, 6);
    expect(
      effectiveTrials(
        clusters([
          [1, 0],
          [0, 1],
          [1, 0],
        ]),
        0.25,
      ),
    ).toBe(3);
    // The sum of three tenths is not 3 * 0.1.
    expect(effectiveTrials(clusters([[0.1, 0.1, 0.1], [0.1], [0.1, 0.1]]), 0)).toBe(3);
    expect(effectiveTrials(clusters([[1, 0], []]), 0.25)).toBeUndefined();
  });
});

describe.skipIf(!hasSharedData)("SPARKIT's vectors", () => {
  interface Vector {
    readonly name: string;
    readonly confidences: readonly number[];
    readonly outcomes: readonly number[];
    readonly bins: number;
    readonly brier: number;
    readonly ece: number;
  }
  const path = join(sharedDataDir, 'sparkit/calibration_vectors.json');
  const vectors = hasSharedData
    ? (JSON.parse(readFileSync(path, 'utf8')) as readonly Vector[])
    : [];

  it.each(vectors)(
    'have the same figures: $name',
    ({ confidences, outcomes, bins, ...figures }) => {
      const forecasts = zip(confidences, outcomes);

      // SPARKIT has 0 for no answers, where a figure is unknown here.
      expect(Math.abs((brierScore(forecasts) ?? 0) - figures.brier)).toBeLessThan(1e-12);
      expect(Math.abs((expectedCalibrationError(forecasts, bins) ?? 0) - figures.ece)).toBeLessThan(
        1e-12,
      );
    },
  );
});
