import { seededRandom } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareValues, listChanged } from '../../../packages/core/src/compare/compare-values.ts';
import { judgeFigures } from '../../../packages/core/src/compare/judge-figures.ts';
import { valuesOf } from '../../support/question-values.ts';

const rule = { better: 'higher', margin: null, coverageFloor: 0.95 } as const;

/** Two configs by question, each with so many replicates. */
const score = fc.constantFrom(0, 0.25, 1, null);
const twoConfigs = fc.integer({ min: 1, max: 3 }).chain((replicates) => {
  const cells = fc.array(score, { minLength: replicates, maxLength: replicates });
  return fc.array(fc.tuple(cells, cells), { minLength: 1, maxLength: 25 }).map((pairs) => ({
    first: Object.fromEntries(pairs.map(([own], index) => [`q${index}`, own])),
    second: Object.fromEntries(pairs.map(([, other], index) => [`q${index}`, other])),
  }));
});

/** The comparison of right and wrong answers: how many only the first got right, only the second, both, and neither. */
function compareCounts(onlyFirst: number, onlySecond: number, both: number, neither: number) {
  const kinds = [
    ...Array.from({ length: onlyFirst }, () => [1, 0] as const),
    ...Array.from({ length: onlySecond }, () => [0, 1] as const),
    ...Array.from({ length: both }, () => [1, 1] as const),
    ...Array.from({ length: neither }, () => [0, 0] as const),
  ];
  const sideOf = (side: 0 | 1) =>
    valuesOf(Object.fromEntries(kinds.map((kind, index) => [`q${index}`, [kind[side]]])));
  return compareValues(sideOf(0), sideOf(1), [0, 1]);
}

describe('the comparison of two configs', () => {
  it('counts a question once, by its mean over replicates', () => {
    const first = valuesOf({ q1: [1, 1], q2: [1, 0], q3: [0, 0], q4: [1, null] });
    const second = valuesOf({ q1: [0, 0], q2: [0, 1], q3: [0, 0], q4: [0, 1] });

    const figures = compareValues(first, second, [0, 1]);

    expect(figures).toMatchObject({ n: 4, questions: 4, a: 0.625, b: 0.25, difference: 0.375 });
    expect(figures).toMatchObject({ gained: 2, lost: 0, same: 2, exact: null });
    // Differences 1, 0, 0, 0.5: variance 0.229167, t = 0.375 / sqrt(0.229167 / 4) with 3 degrees of freedom.
    expect(figures.stderr).toBeCloseTo(0.239357, 6);
    expect(figures.pValue?.p).toBeCloseTo(0.2152, 4);
  });

  it('is about the questions alone that both have, and says how many there are', () => {
    const first = valuesOf({ q1: [1], q2: [null], q3: [1], q4: [0] });
    const second = valuesOf({ q1: [1], q2: [1], q3: [0], q5: [1] });

    const figures = compareValues(first, second, [0, 1]);

    expect(figures).toMatchObject({ n: 2, questions: 3, onlyA: 1, onlyB: 1, a: 1, b: 0.5 });
    expect(figures).toMatchObject({ coverageA: 2 / 3, coverageB: 1 });
  });

  it("has McNemar's exact test and kappa where each question is right or wrong once", () => {
    const { exact, gained, lost } = compareCounts(5, 0, 44, 1);

    expect([gained, lost]).toEqual([5, 0]);
    expect(exact?.pValue.p).toBeCloseTo(0.0625, 12);
    // Observed 0.9, by chance 0.98 x 0.88 + 0.02 x 0.12.
    expect(exact?.kappa).toBeCloseTo((0.9 - 0.8648) / (1 - 0.8648), 12);
  });

  it('tells what both sides would say of each other', () => {
    fc.assert(
      fc.property(twoConfigs, ({ first, second }) => {
        const [own] = judgeFigures(
          [compareValues(valuesOf(first), valuesOf(second), [0, 1])],
          rule,
        );
        const [other] = judgeFigures(
          [compareValues(valuesOf(second), valuesOf(first), [0, 1])],
          rule,
        );

        expect(other?.difference ?? 0).toBeCloseTo(-(own?.difference ?? 0), 12);
        expect(other?.pValue?.p ?? 0).toBeCloseTo(own?.pValue?.p ?? 0, 9);
        expect([other?.gained, other?.lost]).toEqual([own?.lost, own?.gained]);
        const opposite = { better: 'worse', worse: 'better' } as Record<string, string>;
        expect(other?.verdict).toBe(opposite[own?.verdict ?? ''] ?? own?.verdict);
      }),
    );
  });

  it('never differs from itself, whatever is missing', () => {
    fc.assert(
      fc.property(twoConfigs, ({ first }) => {
        const values = valuesOf(first);

        const [figures] = judgeFigures([compareValues(values, values, [0, 1])], rule);

        expect(figures?.difference ?? 0).toBe(0);
        expect(figures).toMatchObject({ gained: 0, lost: 0, verdict: 'not resolved' });
        expect(listChanged(values, values, 'higher')).toEqual([]);
      }),
    );
  });

  it('has bounds by the range of the figure, which may begin below 0', () => {
    const first = valuesOf({ q1: [0.5], q2: [null] });
    const second = valuesOf({ q1: [0.2], q2: [-1] });

    const { bounds } = compareValues(first, second, [-1, 1]);

    expect(bounds).toEqual([expect.closeTo(0.15, 12), expect.closeTo(1.15, 12)]);
  });

  it('has bounds that hold, whatever the missing cells would have been', () => {
    fc.assert(
      fc.property(twoConfigs, fc.nat(), ({ first, second }, seed) => {
        const random = seededRandom('filled', seed);
        const filled = (scores: typeof first) =>
          Object.fromEntries(
            Object.entries(scores).map(([id, cells]) => [
              id,
              cells.map((cell) => cell ?? Math.round(random())),
            ]),
          );

        const { bounds } = compareValues(valuesOf(first), valuesOf(second), [0, 1]);
        const whole = compareValues(valuesOf(filled(first)), valuesOf(filled(second)), [0, 1]);

        expect(bounds?.[0]).toBeLessThanOrEqual((whole.difference ?? 0) + 1e-9);
        expect(bounds?.[1]).toBeGreaterThanOrEqual((whole.difference ?? 0) - 1e-9);
      }),
    );
  });

  it('is never better for a cell that fails instead, without its coverage falling', () => {
    fc.assert(
      fc.property(twoConfigs, fc.nat(), ({ first, second }, place) => {
        const answered = Object.entries(first).flatMap(([id, cells]) =>
          cells.flatMap((cell, index) => (cell === null ? [] : [[id, index] as const])),
        );
        const [id, index] = answered[place % Math.max(1, answered.length)] ?? [];
        fc.pre(id !== undefined);
        const failed = {
          ...first,
          [id]: (first[id] ?? []).map((cell, at) => (at === index ? null : cell)),
        };

        const before = compareValues(valuesOf(first), valuesOf(second), [0, 1]);
        const after = compareValues(valuesOf(failed), valuesOf(second), [0, 1]);

        expect(after.coverageA).toBeLessThan(before.coverageA ?? 0);
        expect(after.bounds?.[0]).toBeLessThanOrEqual((before.bounds?.[0] ?? 0) + 1e-12);
        const [judged] = judgeFigures([after], { ...rule, coverageFloor: 1 });
        expect(judged?.verdict).toBe('not resolved');
      }),
    );
  });

  it('has no bounds for a figure that has none', () => {
    const values = valuesOf({ q1: [7], q2: [null] });

    expect(compareValues(values, values, [0, Number.POSITIVE_INFINITY]).bounds).toBeNull();
  });

  it('knows nothing of configs without a question in common', () => {
    const [figures] = judgeFigures(
      [compareValues(valuesOf({ q1: [1] }), valuesOf({ q2: [1] }), [0, 1])],
      rule,
    );

    expect(figures).toMatchObject({ n: 0, a: null, difference: null, ci95: null, exact: null });
    expect(figures).toMatchObject({ pHolm: null, verdict: 'not resolved', why: 'too-few' });
  });

  it('lists what changed, the worst first', () => {
    const first = valuesOf({ q1: [1], q2: [0], q3: [0.5], q4: [1] });
    const second = valuesOf({ q1: [0], q2: [1], q3: [1], q4: [1] });

    const idsOf = (better: 'higher' | 'lower') =>
      listChanged(first, second, better).map(({ id }) => id);

    expect(idsOf('higher')).toEqual(['q2', 'q3', 'q1']);
    expect(idsOf('lower')).toEqual(['q1', 'q3', 'q2']);
  });
});

describe('the verdict of a comparison', () => {
  const verdictOf = (
    figures: ReturnType<typeof compareCounts>,
    parts: Partial<Parameters<typeof judgeFigures>[1]> = {},
  ) => judgeFigures([figures], { ...rule, ...parts })[0];

  it('is better or worse where the test tells, and higher or lower for a figure without a better', () => {
    const [more, fewer] = [compareCounts(20, 2, 40, 38), compareCounts(2, 20, 40, 38)];

    expect([more, fewer].map((each) => verdictOf(each)?.verdict)).toEqual(['better', 'worse']);
    expect([more, fewer].map((each) => verdictOf(each, { better: 'lower' })?.verdict)).toEqual([
      'worse',
      'better',
    ]);
    expect([more, fewer].map((each) => verdictOf(each, { better: null })?.verdict)).toEqual([
      'higher',
      'lower',
    ]);
  });

  it('is by the exact test where there is one: 5 questions against none may be chance', () => {
    const figures = verdictOf(compareCounts(5, 0, 44, 1));

    expect(figures?.pValue?.p).toBeLessThan(0.05);
    expect(figures).toMatchObject({ verdict: 'not resolved', why: 'noise' });
    expect(figures?.moreQuestions).toBeGreaterThan(0);
  });

  it('says about how many more questions would tell a difference of the size that was seen', () => {
    // By t 8 questions are enough, which are there; for the exact test it is 10.
    expect(verdictOf(compareCounts(5, 0, 2, 1))?.moreQuestions).toBe(2);
    // By t 6 are enough, which are there, also with one for the exact test: but this tells 6 against 0, and not 5.
    expect(verdictOf(compareCounts(5, 0, 1, 0))?.moreQuestions).toBe(1);
    // By t 75 are enough; for the exact test it is 93.
    expect(verdictOf(compareCounts(5, 0, 44, 1))?.moreQuestions).toBe(43);
    expect(verdictOf(compareCounts(6, 6, 44, 44))?.moreQuestions).toBeNull();
  });

  it('says more of them beside others that are not told either, and the same beside those that are', () => {
    const seen = compareCounts(12, 4, 20, 24);
    const moreBeside = (count: number, other: typeof seen) =>
      judgeFigures([seen, ...Array.from({ length: count }, () => other)], rule)[0]?.moreQuestions;
    const alone = verdictOf(seen)?.moreQuestions;

    expect(moreBeside(9, compareCounts(5, 5, 40, 40))).toBeGreaterThan(1.5 * (alone ?? 0));
    expect(moreBeside(9, compareCounts(40, 1, 9, 10))).toBe(alone);
  });

  it('is told by as many more questions of which each side gains the same share, alone and beside others', () => {
    const counts = fc.tuple(fc.nat(20), fc.nat(20), fc.nat(30), fc.nat(30));
    fc.assert(
      fc.property(counts, fc.array(counts, { maxLength: 9 }), (own, others) => {
        const beside = others.map((each) => compareCounts(...each));
        const [figures] = judgeFigures([compareCounts(...own), ...beside], rule);
        fc.pre(figures?.why === 'noise' && figures.difference !== 0);
        const n = figures?.n ?? 0;
        const needed = n + (figures?.moreQuestions ?? 0);
        const [gained = 0, lost = 0] = own.map((each) => Math.round((each * needed) / n));

        const larger = compareCounts(gained, lost, 0, needed - gained - lost);
        const [told] = judgeFigures([larger, ...beside], rule);

        expect(needed).toBeGreaterThan(n);
        expect(told?.why).toBeNull();
      }),
    );
  });

  it.each([
    [1, 0],
    [1, 9],
    [3, 0],
    [3, 9],
  ])(
    'is told in 80 of 100 draws of as many more questions, with %i replicates and beside %i others',
    (replicates, others) => {
      const random = seededRandom('more questions', replicates, others);
      const beside = Array.from({ length: others }, () => compareCounts(5, 5, 40, 40));
      const seen = Array.from({ length: 60 }, (_, index) => {
        const gains = index < 11 ? 1 : index < 15 ? -1 : 0;
        const scoresOf = (isRight: boolean) =>
          Array.from({ length: replicates }, (__, replicate) => Number(isRight && replicate === 0));
        return [scoresOf(gains > 0), scoresOf(gains < 0)] as const;
      });
      const figuresOf = (questions: typeof seen) => {
        const sideOf = (side: 0 | 1) =>
          valuesOf(Object.fromEntries(questions.map((each, index) => [`q${index}`, each[side]])));
        return judgeFigures([compareValues(sideOf(0), sideOf(1), [0, 1]), ...beside], rule)[0];
      };
      const needed = seen.length + (figuresOf(seen)?.moreQuestions ?? 0);
      const draws = 1_000;
      let told = 0;
      for (let draw = 0; draw < draws; draw += 1) {
        const drawn = Array.from({ length: needed }, () => seen[Math.floor(random() * 60)]);
        if (figuresOf(drawn.filter((each) => each !== undefined))?.verdict === 'better') told += 1;
      }

      expect(Math.abs(told / draws - 0.8)).toBeLessThan(0.04);
    },
  );

  it('is no worse where the whole interval is within the margin, also of what is worse by less', () => {
    const margin = 0.05;

    expect(verdictOf(compareCounts(3, 3, 500, 494), { margin })?.verdict).toBe('no worse');
    expect(verdictOf(compareCounts(0, 10, 500, 490), { margin })?.verdict).toBe('no worse');
    expect(verdictOf(compareCounts(10, 0, 500, 490), { margin })?.verdict).toBe('better');
    expect(verdictOf(compareCounts(3, 3, 20, 20), { margin })?.verdict).toBe('not resolved');
    expect(verdictOf(compareCounts(20, 60, 400, 20), { margin })?.verdict).toBe('worse');
  });

  it('is no worse, alone, exactly where the 95 % interval is within the margin', () => {
    fc.assert(
      fc.property(
        twoConfigs,
        fc.double({ min: 0.01, max: 0.9, noNaN: true }),
        fc.constantFrom('higher', 'lower'),
        ({ first, second }, margin, better) => {
          const values = compareValues(valuesOf(first), valuesOf(second), [0, 1]);
          const figures = verdictOf(values, { better, margin, coverageFloor: 0 });

          const [lower = 0, upper = 0] = figures?.ci95 ?? [];
          const isWithin = better === 'higher' ? lower > -margin : upper < margin;
          const isNoWorse = (figures?.pMargin?.p ?? 1) < 0.025;
          expect(isNoWorse).toBe(figures?.ci95 !== null && isWithin);
        },
      ),
    );
  });

  it('is no worse of any of ten configs that are worse by the margin in at most 2.5 of 100 cases', () => {
    const random = seededRandom('worse by the margin');
    const margin = 0.1;
    const draws = 1_000;
    let found = 0;
    for (let draw = 0; draw < draws; draw += 1) {
      const pairs = Array.from({ length: 10 }, () => {
        const changes = Array.from({ length: 60 }, () => random());
        const lost = changes.filter((each) => each < 0.25).length;
        const gained = changes.filter((each) => each >= 0.85).length;
        return compareCounts(gained, lost, 0, 60 - gained - lost);
      });
      const judged = judgeFigures(pairs, { ...rule, margin });
      if (judged.some(({ verdict }) => verdict === 'no worse')) found += 1;
    }

    expect(found / draws).toBeGreaterThan(0.01);
    expect(found / draws).toBeLessThan(0.03);
  });

  it('is withheld below the coverage floor, however large the difference is', () => {
    const first = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`q${index}`, [1]]));
    const second = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`q${index}`, [index < 40 ? null : 0]]),
    );

    const figures = verdictOf(compareValues(valuesOf(first), valuesOf(second), [0, 1]));

    expect(figures).toMatchObject({ n: 60, verdict: 'not resolved', why: 'coverage' });
    expect(figures).toMatchObject({ coverageA: 1, coverageB: 0.6, bounds: [0.6, 1] });
    const refusing = Object.fromEntries(
      Object.keys(first).map((id, index) => [id, [index < 40 ? null : 1]]),
    );
    expect(verdictOf(compareValues(valuesOf(first), valuesOf(refusing), [0, 1]))).toMatchObject({
      ...{ difference: 0, gained: 0, lost: 0, coverageB: 0.6, bounds: [0, 0.4] },
      ...{ verdict: 'not resolved', why: 'coverage' },
    });
  });

  it('needs more beside others: each is a chance of a false alarm', () => {
    const clear = compareCounts(8, 1, 40, 40);
    const others = Array.from({ length: 9 }, () => compareCounts(5, 5, 40, 40));

    const [alone] = judgeFigures([clear], rule);
    const [beside] = judgeFigures([clear, ...others], rule);

    expect(alone?.verdict).toBe('better');
    expect(beside?.pHolm?.p).toBeCloseTo(Math.min(1, (alone?.pHolm?.p ?? 0) * 10), 12);
    expect(beside?.verdict).toBe('not resolved');
  });

  it('has a false alarm in at most 5 of 100 comparisons of equal configs, and in as many with replicates', () => {
    const alarms = (replicates: number) => {
      const random = seededRandom('equal configs', replicates);
      const count = 2_000;
      let found = 0;
      for (let trial = 0; trial < count; trial += 1) {
        const chances = Array.from({ length: 100 }, () => random());
        const side = () =>
          valuesOf(
            Object.fromEntries(
              chances.map((chance, index) => [
                `q${index}`,
                Array.from({ length: replicates }, () => Number(random() < chance)),
              ]),
            ),
          );
        const [figures] = judgeFigures([compareValues(side(), side(), [0, 1])], rule);
        if (figures?.verdict !== 'not resolved') found += 1;
      }
      return found / count;
    };

    // Exact tests have few possible p-values, so that they keep below their level.
    expect(alarms(1)).toBeGreaterThan(0.02);
    expect(alarms(1)).toBeLessThan(0.05);
    expect(alarms(3)).toBeGreaterThan(0.04);
    expect(alarms(3)).toBeLessThan(0.06);
  });
});
