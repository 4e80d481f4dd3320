import { describe, expect, it } from 'vitest';
import { coverageOf, statingModels } from '../support/calibration-draws.ts';

// In so many draws, a coverage of 95 % is known to 0.2 to 0.4 points (standard error), with replicates to 0.7 to 1.
const sizes = [
  { questions: 30, draws: 10_000, drawsOfReplicates: 1_000 },
  { questions: 300, draws: 10_000, drawsOfReplicates: 1_000 },
  { questions: 3_000, draws: 3_000, drawsOfReplicates: 500 },
];

describe.each(statingModels)('of a model that states $name,', (model) => {
  it.each(sizes)('the intervals hold over $questions questions', ({ questions, draws }) => {
    const { brier, ece } = coverageOf({ model, questions, draws });

    expect(brier).toBeGreaterThan(0.93);
    expect(ece).toBeGreaterThan(0.93);
    // Of 30 answers few are wrong, in steps that no interval follows; and what chance adds to an ECE is known up to a bound.
    expect(brier).toBeLessThan(questions === 30 ? 0.995 : 0.97);
    expect(ece).toBeLessThanOrEqual(questions === 3_000 ? 0.985 : 1);
  });

  it.each(sizes)(
    'the intervals hold over $questions questions in three replicates, of which half are alike',
    ({ questions, drawsOfReplicates: draws }) => {
      const { brier, ece } = coverageOf({ model, questions, draws, replicates: 3, alike: 0.5 });

      expect(brier).toBeGreaterThan(0.92);
      expect(ece).toBeGreaterThan(0.92);
      expect(brier).toBeLessThan(0.99);
    },
  );
});
