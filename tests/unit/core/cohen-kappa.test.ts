import { cohenKappa } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const count = fc.nat(40);
const agreements = fc.record({
  bothYes: count,
  onlyFirst: count,
  onlySecond: count,
  bothNo: count,
});

describe("Cohen's kappa", () => {
  // https://www.easycalculation.com/statistics/learn-cohens-kappa-index.php
  it('matches a published value', () => {
    const kappa = cohenKappa({ bothYes: 12, onlyFirst: 4, onlySecond: 2, bothNo: 2 });

    expect(kappa).toBeCloseTo(0.21, 2);
  });

  it('is 1 for raters who always agree on both answers, and 0 for independent ones', () => {
    expect(cohenKappa({ bothYes: 3, onlyFirst: 0, onlySecond: 0, bothNo: 5 })).toBe(1);
    expect(cohenKappa({ bothYes: 2, onlyFirst: 4, onlySecond: 3, bothNo: 6 })).toBe(0);
  });

  it('is undefined where every answer is the same, or there is none', () => {
    expect(cohenKappa({ bothYes: 0, onlyFirst: 0, onlySecond: 0, bothNo: 9 })).toBeUndefined();
    expect(cohenKappa({ bothYes: 0, onlyFirst: 0, onlySecond: 0, bothNo: 0 })).toBeUndefined();
  });

  it('is at most 1 and the same for either order of the raters', () => {
    fc.assert(
      fc.property(agreements, (each) => {
        const kappa = cohenKappa(each);
        const swapped = { ...each, onlyFirst: each.onlySecond, onlySecond: each.onlyFirst };

        expect(kappa ?? 0).toBeLessThanOrEqual(1);
        expect(cohenKappa(swapped)).toBe(kappa);
      }),
    );
  });
});
