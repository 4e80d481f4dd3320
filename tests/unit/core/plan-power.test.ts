import { ASSUMED_SPREAD, measureSpread, planPower, seededRandom } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { compareValues } from '../../../packages/core/src/compare/compare-values.ts';
import { deviationAt } from '../../../packages/core/src/compare/difference-spread.ts';
import { judgeFigures } from '../../../packages/core/src/compare/judge-figures.ts';
import { valuesOf } from '../../support/question-values.ts';

/** Two configs, of which the second is better by `difference` on each question: their scores over replicates. */
function draw(random: () => number, { questions = 0, replicates = 1, difference = 0 }) {
  const sides = Array.from({ length: questions }, (_, index) => {
    const chance = 0.2 + 0.4 * random();
    const scores = (more: number) =>
      Array.from({ length: replicates }, () => Number(random() < chance + more));
    return [[`q${index}`, scores(0)] as const, [`q${index}`, scores(difference)] as const] as const;
  });
  return {
    first: valuesOf(Object.fromEntries(sides.map(([own]) => own))),
    second: valuesOf(Object.fromEntries(sides.map(([, other]) => other))),
  };
}

describe('the spread of differences', () => {
  it('is split into what more replicates reduce and what they do not', () => {
    const first = valuesOf({ q1: [1, 0], q2: [1, 1], q3: [0, 0] });
    const second = valuesOf({ q1: [0, 0], q2: [1, 0], q3: [0, 1] });

    const spread = measureSpread(first, second);

    // Differences 0.5, 0.5, -0.5; variances over replicates 0.5 and 0, 0 and 0.5, 0 and 0.5.
    expect(spread).toMatchObject({ questions: 3, replicates: 2, replicate: 0.5 });
    expect(spread?.total).toBeCloseTo(1 / 3, 12);
    // Between questions 1/3 - 0.5/2.
    expect(deviationAt(spread ?? ASSUMED_SPREAD, 4) ** 2).toBeCloseTo(1 / 3 - 0.25 + 0.125, 12);
    expect(deviationAt(spread ?? ASSUMED_SPREAD, 2) ** 2).toBeCloseTo(1 / 3, 12);
  });

  it('is the same for any number of replicates where no question has two, and unknown for one question', () => {
    const once = measureSpread(valuesOf({ q1: [1], q2: [0] }), valuesOf({ q1: [0], q2: [0] }));

    expect(once).toMatchObject({ replicate: null, replicates: 1 });
    expect(deviationAt(once ?? ASSUMED_SPREAD, 9)).toBe(deviationAt(once ?? ASSUMED_SPREAD, 1));
    expect(measureSpread(valuesOf({ q1: [1] }), valuesOf({ q1: [0] }))).toBeUndefined();
  });
});

describe('the power of a plan', () => {
  const pair = { a: 'a', b: 'b', questions: 100, spread: ASSUMED_SPREAD, costUsd: 0.02 };

  it('resolves a smaller difference with more questions, and says what they cost', () => {
    const [power] = planPower([pair], 3);

    expect(power?.rows.map(({ kind, questions, cells }) => [kind, questions, cells])).toEqual([
      ['plan', 100, 600],
      ['questions', 200, 1_200],
    ]);
    const [plan, doubled] = power?.rows ?? [];
    expect(plan?.costUsd).toBeCloseTo(6, 12);
    // (t.975 + t.8 with 99 degrees of freedom) times sqrt(0.5 / 100).
    expect(plan?.resolves).toBeCloseTo((1.984217 + 0.845267) * Math.sqrt(0.005), 5);
    expect(doubled?.resolves).toBeLessThan(plan?.resolves ?? 0);
    expect(power?.advice).toBeNull();
  });

  it('says how many questions of a cheaper pair the dollars of the dearest buy', () => {
    const [, cheap] = planPower([pair, { ...pair, b: 'c', costUsd: 0.005 }], 1);

    expect(cheap?.rows.at(-1)).toMatchObject({ kind: 'dollars', questions: 400, costUsd: 2 });
  });

  it('advises what resolves more', () => {
    const spreadOf = (total: number, replicate: number) => ({
      ...{ questions: 100, replicates: 1, total, replicate, isBinary: true },
    });
    const adviceOf = (spread: typeof pair.spread) => planPower([{ ...pair, spread }], 1)[0]?.advice;

    expect(adviceOf(spreadOf(0.5, 0.5))).toBe('more replicates');
    expect(adviceOf(spreadOf(0.5, 0.1))).toBe('more questions');
  });

  it('of configs that never differ is not without spread, and says nothing about replicates', () => {
    const { first } = draw(seededRandom('alike'), { questions: 1, replicates: 2, difference: 0 });
    const [value] = [...first.values()];
    const right = {
      ...(value as NonNullable<typeof value>),
      sum: 2,
      squares: 2,
      count: 2,
      cells: 2,
    };
    const alike = new Map(Array.from({ length: 40 }, (_, index) => [`q${index}`, right] as const));
    const spread = measureSpread(alike, alike) ?? ASSUMED_SPREAD;

    const [power] = planPower([{ ...pair, questions: 40, spread }], 2);

    expect(power?.rows[0]?.resolves).toBeGreaterThan(1 / 40);
    expect(power?.advice).toBeNull();
  });

  it('resolves nothing where not even the largest difference is seen', () => {
    const [power] = planPower([{ ...pair, questions: 2, spread: ASSUMED_SPREAD }], 1);

    expect(power?.rows.map(({ kind, resolves }) => [kind, resolves === null])).toContainEqual([
      'plan',
      true,
    ]);
  });

  it.each([
    [1, 30, 0.05],
    [1, 150, 0.02],
    [3, 30, 0.02],
    [3, 150, 0.02],
  ])(
    'with %i replicates of %i questions is what comparisons then have: 80 of 100 tell the difference',
    (replicates, questions, within) => {
      const random = seededRandom('power', replicates, questions);
      const pilot = draw(random, { questions: 4_000, replicates: 2, difference: 0.1 });
      const spread = measureSpread(pilot.first, pilot.second) ?? ASSUMED_SPREAD;
      const [power] = planPower([{ ...pair, questions, spread }], replicates);
      const difference = power?.rows[0]?.resolves ?? 0;
      const rule = { better: 'higher', margin: null, coverageFloor: 0 } as const;
      const count = 300_000 / questions;
      let told = 0;
      for (let trial = 0; trial < count; trial += 1) {
        const { first, second } = draw(random, { questions, replicates, difference });
        const [figures] = judgeFigures([compareValues(first, second, [0, 1])], rule);
        if (figures?.verdict === 'worse') told += 1;
      }

      expect(Math.abs(told / count - 0.8)).toBeLessThan(within);
    },
  );
});
