import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addValue,
  noMoments,
  type RunningMoments,
} from '../../../packages/core/src/statistics/running-moments.ts';
import { seededRandom } from '../../../packages/core/src/statistics/seeded-random.ts';
import { varianceSplit } from '../../../packages/core/src/statistics/variance-split.ts';

type Values = readonly number[];

const score = fc.constantFrom(0, 0.5, 1);
const questions = fc.array(fc.array(score, { maxLength: 4 }), { maxLength: 20 });

describe('the split of variance', () => {
  // Snedecor and Cochran (1967), table 10.13.1: calcium of turnip leaves. They give 0.0724 and 0.0066.
  it('matches a published example', () => {
    const { question, replicate } = varianceSplit(
      [
        [3.28, 3.09, 3.03, 3.03],
        [3.52, 3.48, 3.38, 3.38],
        [2.88, 2.8, 2.81, 2.76],
        [3.34, 3.38, 3.23, 3.26],
      ].map(momentsOf),
    );

    expect(question).toBeCloseTo(0.0724, 4);
    expect(replicate).toBeCloseTo(0.0066, 4);
  });

  it('finds the parts that values were drawn with', () => {
    const random = seededRandom('parts');
    const spread = (deviation: number) => deviation * Math.sqrt(12) * (random() - 0.5);
    const answers: RunningMoments[] = [];
    const drawn = Array.from({ length: 4_000 }, () => {
      const question = spread(0.3);
      return momentsOf(
        Array.from({ length: 3 }, () => {
          const answer = question + spread(0.2);
          const verdicts = momentsOf(Array.from({ length: 5 }, () => answer + spread(0.1)));
          answers.push(verdicts);
          return verdicts.sum / verdicts.count;
        }),
      );
    });

    const split = varianceSplit(drawn, answers);

    expect(split.question).toBeCloseTo(0.09, 2);
    expect(split.replicate).toBeCloseTo(0.04, 3);
    expect(split.judge).toBeCloseTo(0.01, 3);
    expect(split.counts).toEqual({ questions: 4_000, replicates: 12_000, verdicts: 60_000 });
  });

  it('advises what lowers the variance of the mean more', () => {
    const alike = [momentsOf([0, 1]), momentsOf([1, 0]), momentsOf([0, 1])];
    const apart = [momentsOf([0, 0]), momentsOf([1, 1]), momentsOf([0, 0]), momentsOf([1, 0])];

    expect(varianceSplit(alike)).toMatchObject({ question: 0, advice: 'more replicates' });
    expect(varianceSplit(apart).advice).toBe('more questions');
  });

  it('is unknown without replicates, from one question, and without any', () => {
    const unknown = { question: undefined, advice: undefined };

    expect(varianceSplit([[1], [0], [1]].map(momentsOf))).toMatchObject({
      ...unknown,
      replicate: undefined,
    });
    expect(varianceSplit([momentsOf([0, 1])])).toMatchObject({ ...unknown, replicate: 0.5 });
    expect(varianceSplit([noMoments()])).toMatchObject({
      ...unknown,
      replicate: undefined,
      judge: undefined,
      counts: { questions: 0, replicates: 0, verdicts: 0 },
    });
  });

  it('has no advice where nothing varies', () => {
    expect(
      varianceSplit(
        [
          [1, 1],
          [1, 1],
        ].map(momentsOf),
      ),
    ).toMatchObject({
      question: 0,
      replicate: 0,
      advice: undefined,
    });
  });

  it('does not depend on the order of questions, moves with no shift, and grows by the square', () => {
    fc.assert(
      fc.property(questions, fc.integer({ min: 2, max: 9 }), (values, by) => {
        const split = varianceSplit(values.map(momentsOf));
        const changed = varianceSplit(
          values.toReversed().map((each) => momentsOf(each.map((value) => value * by - by))),
        );

        expect(changed.counts).toEqual(split.counts);
        expect(changed.question ?? -1).toBeCloseTo(
          split.question === undefined ? -1 : split.question * by ** 2,
          9,
        );
        expect(changed.replicate ?? -1).toBeCloseTo(
          split.replicate === undefined ? -1 : split.replicate * by ** 2,
          9,
        );
      }),
    );
  });
});

function momentsOf(values: Values): RunningMoments {
  const moments = noMoments();
  for (const value of values) addValue(moments, value);
  return moments;
}
