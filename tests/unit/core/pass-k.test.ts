import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { passAtK } from '../../../packages/core/src/statistics/pass-at-k.ts';
import { passHatK } from '../../../packages/core/src/statistics/pass-hat-k.ts';

const replicates = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });
const question = replicates.map((passes) => questionOf(passes));

describe('pass@k and pass^k', () => {
  it('are the shares of all draws of k replicates with a pass, and with passes only', () => {
    fc.assert(
      fc.property(replicates, fc.integer({ min: 1, max: 7 }), (passes, k) => {
        fc.pre(k <= passes.length);
        const draws = drawsOf(passes, k);
        const some = draws.filter((draw) => draw.includes(true)).length / draws.length;
        const all = draws.filter((draw) => !draw.includes(false)).length / draws.length;

        expect(passAtK([questionOf(passes)], k)?.value ?? Number.NaN).toBeCloseTo(some, 12);
        expect(passHatK([questionOf(passes)], k)?.value ?? Number.NaN).toBeCloseTo(all, 12);
      }),
    );
  });

  // OpenAI's human-eval, evaluation.py, estimate_pass_at_k(num_samples=[5, 5, 5], num_correct=[0, 1, 3], k).
  it('match the published implementation', () => {
    const questions = [0, 1, 3].map((sum) => ({ sum, count: 5 }));

    expect(passAtK(questions, 1)?.value).toBeCloseTo((0 + 0.2 + 0.6) / 3, 12);
    expect(passAtK(questions, 2)?.value).toBeCloseTo((0 + 0.4 + 0.9) / 3, 12);
    expect(passHatK(questions, 2)?.value).toBeCloseTo((0 + 0 + 0.3) / 3, 12);
  });

  it('are the pass rate for one draw, mirror each other, and part with more', () => {
    fc.assert(
      fc.property(
        fc.array(question, { minLength: 1 }),
        fc.integer({ min: 1, max: 7 }),
        (questions, k) => {
          const failures = questions.map(({ sum, count }) => ({ sum: count - sum, count }));
          const [some, all] = [passAtK(questions, k), passHatK(questions, k)];
          const rate = questions.reduce((total, { sum, count }) => total + sum / count, 0);

          expect(passAtK(questions, 1)?.value).toBeCloseTo(rate / questions.length, 12);
          expect(passHatK(questions, 1)?.value).toBeCloseTo(rate / questions.length, 12);
          expect(some?.value ?? 0).toBeGreaterThanOrEqual((all?.value ?? 0) - 1e-12);
          expect(some?.value ?? 0).toBeCloseTo(1 - (passHatK(failures, k)?.value ?? 1), 12);
        },
      ),
    );
  });

  it('count the questions with at least k replicates, and are unknown without one', () => {
    const questions = [
      { sum: 2, count: 2 },
      { sum: 0, count: 1 },
      { sum: 0, count: 0 },
    ];

    expect(passAtK(questions, 2)).toEqual({ value: 1, count: 1 });
    expect(passHatK(questions, 1)).toEqual({ value: 0.5, count: 2 });
    expect(passAtK(questions, 3)).toBeUndefined();
    expect(passHatK([], 1)).toBeUndefined();
  });
});

function questionOf(passes: readonly boolean[]): { sum: number; count: number } {
  return { sum: passes.filter(Boolean).length, count: passes.length };
}

/** All choices of k replicates. */
function drawsOf(passes: readonly boolean[], k: number): readonly (readonly boolean[])[] {
  if (k === 0) return [[]];
  return passes.flatMap((pass, index) =>
    drawsOf(passes.slice(index + 1), k - 1).map((rest) => [pass, ...rest]),
  );
}
