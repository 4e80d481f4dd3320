import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allocateShares } from '../../../packages/core/src/domain/lanes/share-rate.ts';

const ALL = Number.POSITIVE_INFINITY;

describe('the shares of a rate', () => {
  it.each<[string, readonly number[], readonly number[]]>([
    ['all of it for one group', [0.1], [1]],
    ['halves for two that need all they can get', [ALL, ALL], [0.5, 0.5]],
    ['the rest for the one that needs more', [0.08, ALL], [0.1, 0.9]],
    ['thirds for three, of which one needs just that', [ALL, 1 / 3, ALL], [1 / 3, 1 / 3, 1 / 3]],
    ['what is needed, and the rest in equal parts', [0.08, 0.4], [0.3, 0.7]],
  ])('are %s', (_, needs, expected) => {
    const shares = allocateShares(needs);

    expect(shares.map((share) => Math.round(share * 1e9) / 1e9)).toEqual(
      expected.map((share) => Math.round(share * 1e9) / 1e9),
    );
  });

  it('add up to all of it, and give nobody less than an equal part who needs that', () => {
    const need = fc.oneof(fc.double({ min: 1e-6, max: 2, noNaN: true }), fc.constant(ALL));
    fc.assert(
      fc.property(fc.array(need, { minLength: 1, maxLength: 16 }), (needs) => {
        const shares = allocateShares(needs);

        const sum = shares.reduce((total, share) => total + share, 0);
        expect(sum).toBeCloseTo(1, 9);
        for (const [index, share] of shares.entries()) {
          const least = Math.min(needs[index] ?? 0, 1 / needs.length);
          expect(share).toBeGreaterThanOrEqual(least - 1e-9);
        }
      }),
    );
  });
});
