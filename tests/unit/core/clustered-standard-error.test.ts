import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clusteredInterval } from '../../../packages/core/src/statistics/clustered-interval.ts';
import { clusteredStandardError } from '../../../packages/core/src/statistics/clustered-standard-error.ts';
import { sampleVariance } from '../../../packages/core/src/statistics/sample-variance.ts';
import { wilsonInterval } from '../../../packages/core/src/statistics/wilson-interval.ts';

type Scores = readonly (readonly number[])[];

const binaryScores = fc.array(fc.array(fc.constantFrom(0, 1), { minLength: 1, maxLength: 5 }), {
  minLength: 2,
  maxLength: 30,
});

const clustersOf = (scores: Scores) =>
  scores.map((values) => ({
    sum: values.reduce((sum, value) => sum + value, 0),
    count: values.length,
  }));

/** Miller (2024), appendix A: the products of all pairs within a cluster, with C / (C - 1). */
function byPairs(scores: Scores): number {
  const all = scores.flat();
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
  const products = scores.flatMap((values) =>
    values.flatMap((left) => values.map((right) => (left - mean) * (right - mean))),
  );
  const sum = products.reduce((total, product) => total + product, 0);
  return Math.sqrt((Math.max(0, sum) * scores.length) / (scores.length - 1)) / all.length;
}

describe('the clustered standard error', () => {
  // Computed with _clustered_stderr of inspect_ai 0.3.285.
  it.each([
    {
      scores: [
        [1, 0, 0],
        [1, 1, 0],
      ],
      expected: 1 / 6,
    },
    {
      scores: [
        [1, 1, 1],
        [1, 0, 1],
        [0, 0, 0],
        [0, 1, 0],
      ],
      expected: 0.2151657414559676,
    },
    { scores: [[1], [0], [1], [1]], expected: 0.25 },
  ])('is $expected for $scores', ({ scores, expected }) => {
    expect(clusteredStandardError(clustersOf(scores))).toBeCloseTo(expected, 12);
  });

  it('is that of all pairs within clusters', () => {
    fc.assert(
      fc.property(binaryScores, (scores) => {
        // The root would enlarge the last digits of a difference near 0.
        const variance = (clusteredStandardError(clustersOf(scores)) ?? Number.NaN) ** 2;

        expect(variance).toBeCloseTo(byPairs(scores) ** 2, 12);
      }),
    );
  });

  it('is the usual one if each cluster has one value', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 2 }),
        (values) => {
          const usual = Math.sqrt((sampleVariance(values) ?? 0) / values.length);

          expect(clusteredStandardError(values.map((sum) => ({ sum, count: 1 })))).toBeCloseTo(
            usual,
            10,
          );
        },
      ),
    );
  });

  it('does not shrink if every answer is only repeated', () => {
    const once = [[1], [0], [1], [1], [0]];
    const thrice = once.map(([score = 0]) => [score, score, score]);

    expect(clusteredStandardError(clustersOf(thrice))).toBeCloseTo(
      clusteredStandardError(clustersOf(once)) ?? Number.NaN,
      12,
    );
  });

  it('ignores questions without a score, and is unknown for fewer than two others', () => {
    const nothing = { sum: 0, count: 0 };

    expect(clusteredStandardError([{ sum: 1, count: 2 }, nothing])).toBeUndefined();
    expect(clusteredStandardError(clustersOf([[1], [0]]).concat(nothing))).toBe(0.5);
  });
});

describe('the clustered interval', () => {
  it('lies in 0..1, contains the mean, and mirrors that of the failures', () => {
    fc.assert(
      fc.property(binaryScores, (scores) => {
        const all: readonly number[] = scores.flat();
        const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
        const failures = scores.map((values) => values.map((value) => 1 - value));
        const [lower, upper] = boundsOf(scores);
        const [mirroredLower, mirroredUpper] = boundsOf(failures);

        expect(lower).toBeGreaterThanOrEqual(0);
        expect(upper).toBeLessThanOrEqual(1);
        expect(lower).toBeLessThanOrEqual(mean + 1e-12);
        expect(upper).toBeGreaterThanOrEqual(mean - 1e-12);
        expect(lower).toBeCloseTo(1 - mirroredUpper, 9);
        expect(upper).toBeCloseTo(1 - mirroredLower, 9);
      }),
    );
  });

  it('is that of as many questions where every replicate of all of them is right', () => {
    const clusters = Array.from({ length: 20 }, () => ({ sum: 3, count: 3 }));

    expect(clusteredInterval(clusters)).toEqual(wilsonInterval(20, 20));
  });

  it('nears the Wilson interval of many questions with one replicate, and narrows where scores vary less', () => {
    const hits = Array.from({ length: 10_000 }, (_, index) => [index % 10 < 7 ? 1 : 0]);
    const partly = Array.from({ length: 10_000 }, (_, index) => [index % 10 < 7 ? 0.8 : 0.5]);
    const [low = 0, high = 0] = wilsonInterval(7_000, 10_000) ?? [];

    const [lower, upper] = boundsOf(hits);
    const [partlyLower, partlyUpper] = boundsOf(partly);

    expect(lower).toBeCloseTo(low, 4);
    expect(upper).toBeCloseTo(high, 4);
    // Their standard deviation is 0.3 times as large.
    expect((partlyUpper - partlyLower) / (high - low)).toBeCloseTo(0.3, 3);
  });

  it('is wide for two questions that differ, and as for two trials where they do not', () => {
    expect(boundsOf([[1], [0]])[1] - boundsOf([[1], [0]])[0]).toBeGreaterThan(0.95);
    expect(boundsOf([[0.5], [0.5]])).toEqual(wilsonInterval(1, 2));
    expect(clusteredInterval(clustersOf([[1, 1]]))).toBeUndefined();
  });
});

function boundsOf(scores: Scores): readonly [number, number] {
  return clusteredInterval(clustersOf(scores)) ?? [Number.NaN, Number.NaN];
}
