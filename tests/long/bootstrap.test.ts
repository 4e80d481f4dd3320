import { seededRandom } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { bootstrapInterval } from '../../packages/core/src/statistics/bootstrap-interval.ts';
import { fleissKappa } from '../../packages/core/src/statistics/fleiss-kappa.ts';
import { flipRate } from '../../packages/core/src/statistics/flip-rate.ts';

describe('the bootstrap interval', () => {
  it('holds in 95 of 100 cases, for three judges that flip 20 % of their verdicts', () => {
    const seeds = Array.from({ length: 600 }, (_, index) => index);
    const covers = (interval: readonly [number, number] | undefined, truth: number) =>
      (interval?.[0] ?? 1) <= truth && truth <= (interval?.[1] ?? 0);

    const covered = seeds.map((seed) => {
      const random = seededRandom('verdicts', seed);
      const answers = Array.from({ length: 100 }, (_, index) => {
        const votes = [1, 2, 3].map(() => (index % 2 === 0) !== random() < 0.2);
        const yes = votes.filter((vote) => vote).length;
        return [[yes, 3 - yes]];
      });
      return {
        flipRate: covers(bootstrapInterval(answers, flipRate, seededRandom(seed)), 0.32),
        kappa: covers(bootstrapInterval(answers, fleissKappa, seededRandom(seed)), 0.36),
      };
    });

    for (const name of ['flipRate', 'kappa'] as const) {
      const ratio = covered.filter((each) => each[name]).length / seeds.length;
      expect(ratio).toBeGreaterThan(0.93);
      expect(ratio).toBeLessThan(0.97);
    }
  });
});
