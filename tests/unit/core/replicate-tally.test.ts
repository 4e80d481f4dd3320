import type { CellRow } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReplicateTally } from '../../../packages/core/src/results/replicate-tally.ts';
import { replicateSchema } from '../../../packages/core/src/results/summary.ts';
import { aCall, aCellRow, aRowWithoutScore } from '../../support/builders.ts';

const scored = (score: number) => aCellRow({ outcome: 'scored', score });
const unparsed = () => aCellRow({ outcome: 'unparsed', score: 0, reason: 'no-choice' });
const failed = () => aRowWithoutScore('failed');
const wasted = (costUsd: number | null) => aCall({ costUsd, discarded: 'truncated-response' });
const paid = (costUsd: number | null) => aCellRow({ calls: [aCall({ costUsd })] });

const scores = fc.oneof(
  fc.constantFrom(0, 1),
  fc.integer({ min: 0, max: 8 }).map((eighths) => eighths / 8),
);
const rows = fc.oneof(
  scores.map(scored),
  fc.constantFrom(unparsed(), failed(), aRowWithoutScore('ungraded')),
  fc.constant(aRowWithoutScore('not-attempted')),
);

describe('the figures of a replicate', () => {
  it('are point, bounds and coverage', () => {
    const mixed = [
      scored(1),
      scored(1),
      scored(1),
      scored(0),
      unparsed(),
      failed(),
      aRowWithoutScore('ungraded'),
      aRowWithoutScore('not-attempted'),
    ];

    const figures = summarize(mixed);

    expect(figures).toMatchObject({
      run: 'demo-r1',
      questions: 8,
      scored: 4,
      unparsed: 1,
      ungraded: 1,
      failed: 1,
      notAttempted: 1,
      correct: 3,
      coverage: 5 / 8,
      score: 3 / 5,
      scoreLower: 3 / 8,
      scoreUpper: 6 / 8,
    });
  });

  it('include the standard error and the interval of the scores', () => {
    const figures = summarize([scored(1), scored(1), scored(1), scored(0), unparsed(), failed()]);

    // p (1 - p) / (n - 1) for p = 3/5 of n = 5.
    expect(figures.stderr).toBeCloseTo(Math.sqrt(0.24 / 4), 12);
    // Wilson (1927), doi:10.1080/01621459.1927.10502953, at z = 1.96.
    expect(figures.ci95?.map((bound) => bound.toFixed(4))).toEqual(['0.2307', '0.8824']);
  });

  it('are unknown without a score', () => {
    const figures = summarize([failed()]);

    expect(figures).toMatchObject({
      coverage: 0,
      score: null,
      scoreLower: 0,
      scoreUpper: 1,
      headline: null,
      stderr: null,
      ci95: null,
      costUsd: null,
      costUsdPerQuestion: null,
      latency: { totalS: null, meanS: null, p50S: null, p90S: null, p99S: null },
    });
  });

  it('are unknown without any row', () => {
    expect(summarize([])).toMatchObject({ questions: 0, coverage: null, scoreLower: null });
  });

  it('have no standard error for one score', () => {
    expect(summarize([scored(1)]).stderr).toBeNull();
  });

  it('count partial scores, but not as correct', () => {
    const figures = summarize([scored(0.5), scored(1)]);

    expect(figures).toMatchObject({ score: 0.75, correct: 1 });
  });

  it.each([
    ['a headline if coverage reaches the floor', 0.75, 2 / 3],
    ['no headline below the floor', 0.76, null],
  ])('have %s', (_, floor, headline) => {
    const figures = summarize([scored(1), scored(1), scored(0), failed()], floor);

    expect(figures.headline).toBe(headline);
  });

  it('count an answer cut off by its token limit as truncated, whatever its outcome', () => {
    const calls = [aCall({ finishReason: 'length' })];

    const figures = summarize([
      aCellRow({ calls }),
      aCellRow({ outcome: 'unparsed', score: 0, calls }),
      aCellRow({ calls: [...calls, ...calls] }),
      scored(1),
    ]);

    expect(figures.truncated).toBe(3);
  });
});

describe('the costs of a replicate', () => {
  it('are added up over all calls, apart from those that grade; a judge that a solver asks is no such call', () => {
    const judge = aCall({ step: 'judge', costUsd: 1 });
    const graded = { step: 'judge', purpose: 'grading', costUsd: 0.5 } as const;
    const grading = aCall({ ...graded, inputTokens: 7, outputTokens: 1 });

    const figures = summarize([paid(0.25), aCellRow({ calls: [judge, grading] })]);

    expect(figures).toMatchObject({
      costUsd: 1.25,
      costUsdPerQuestion: 0.625,
      overheadUsd: 0.5,
      knownSpendUsd: 1.75,
      calls: 3,
      unpricedCalls: 0,
      inputTokens: 20,
      outputTokens: 4,
    });
  });

  it('are unknown if one of them is', () => {
    const figures = summarize([paid(0.25), paid(null)]);

    expect(figures).toMatchObject({ costUsd: null, costUsdPerQuestion: null, inputTokens: 20 });
  });

  it('are unknown if token counts are', () => {
    const figures = summarize([aCellRow({ calls: [aCall({ outputTokens: null })] })]);

    expect(figures).toMatchObject({ inputTokens: 10, outputTokens: null });
  });

  it('are 0 if they are known to be 0', () => {
    expect(summarize([paid(0)]).costUsd).toBe(0);
  });

  it('list the waste separately', () => {
    const figures = summarize([
      paid(1),
      aCellRow({ calls: [aCall({ costUsd: 1 }), wasted(0.25)] }),
      aRowWithoutScore('failed', { calls: [wasted(0.5)] }),
    ]);

    expect(figures).toMatchObject({ costUsd: 2, wasteUsd: 0.75, calls: 4, wasteCalls: 2 });
  });

  it('have no waste without failed attempts', () => {
    expect(summarize([paid(1)]).wasteUsd).toBe(0);
  });

  it('have unknown waste if one failed attempt has an unknown cost', () => {
    const failed = aRowWithoutScore('failed', { calls: [wasted(0.25), wasted(null)] });

    expect(summarize([paid(1), failed])).toMatchObject({
      costUsd: 1,
      wasteUsd: null,
      knownSpendUsd: 1.25,
      calls: 3,
      unpricedCalls: 1,
    });
  });
});

describe('the latencies of a replicate', () => {
  it('are percentiles in seconds over the cells that have one', () => {
    const latencies = [400, 100, 300, 200, 500];

    const figures = summarize([...latencies.map((latencyMs) => aCellRow({ latencyMs })), failed()]);

    expect(figures.latency.totalS).toBe(1.5);
    expect(figures.latency.meanS).toBe(0.3);
    expect(figures.latency.p50S).toBe(0.3);
    expect(figures.latency.p90S).toBeCloseTo(0.46, 12);
    expect(figures.latency.p99S).toBeCloseTo(0.496, 12);
  });
});

describe('any mix of rows', () => {
  it('keeps every figure in its range and the score within its bounds', () => {
    fc.assert(
      fc.property(fc.array(rows, { maxLength: 30 }), (mix) => {
        const figures = replicateSchema.parse(summarize(mix));

        const { score, scoreLower, scoreUpper } = figures;
        expect(figures.questions).toBe(mix.length);
        if (score === null) return;
        expect(scoreLower).toBeLessThanOrEqual(score);
        expect(scoreUpper).toBeGreaterThanOrEqual(score);
      }),
    );
  });

  it('keeps the score within its bounds for scores of any fraction', () => {
    const anyScore = fc.double({ min: 0, max: 1, noNaN: true }).map(scored);

    fc.assert(
      fc.property(fc.array(anyScore, { minLength: 1, maxLength: 30 }), (mix) => {
        const { score, scoreLower, scoreUpper } = replicateSchema.parse(summarize(mix));

        // With every cell answered, the bounds meet.
        expect([scoreLower, scoreUpper]).toEqual([score, score]);
      }),
    );
  });

  it('does not improve with a failure', () => {
    fc.assert(
      fc.property(
        fc.array(rows, { minLength: 1, maxLength: 30 }),
        fc.constantFrom('failed', 'ungraded', 'not-attempted'),
        (mix, outcome) => {
          const before = summarize(mix);
          const after = summarize([...mix, aRowWithoutScore(outcome)]);

          expect(after.score).toBe(before.score);
          expect(after.correct).toBe(before.correct);
          expect(after.stderr).toBe(before.stderr);
          expect(after.scoreLower).toBeLessThanOrEqual(before.scoreLower ?? Number.NaN);
          expect(after.scoreUpper).toBeGreaterThanOrEqual(before.scoreUpper ?? Number.NaN);
          expect(after.coverage).toBeLessThanOrEqual(before.coverage ?? Number.NaN);
        },
      ),
    );
  });

  it('gives the same figures in any order', () => {
    const shuffled = fc.array(rows, { maxLength: 20 }).chain((mix) =>
      fc.record({
        mix: fc.constant(mix),
        other: fc.shuffledSubarray(mix, { minLength: mix.length }),
      }),
    );

    fc.assert(
      fc.property(shuffled, ({ mix, other }) => {
        expect(summarize(other)).toEqual(summarize(mix));
      }),
    );
  });
});

function summarize(mix: readonly CellRow[], coverageFloor = 0.98) {
  const tally = new ReplicateTally('demo-r1');
  for (const row of mix) tally.add(row);
  return tally.summarize(coverageFloor);
}
