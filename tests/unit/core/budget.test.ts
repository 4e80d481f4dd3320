import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { capToNanoUsd, toNanoUsd } from '../../../packages/core/src/domain/budget.ts';

describe('a cost in nanodollars', () => {
  it.each([
    [0, 0],
    [0.000_000_000_1, 1],
    [0.000_000_001, 1],
    [0.000_000_001_2, 2],
    // What floating point adds is no cost.
    [0.1 + 0.2, 300_000_000],
    [1.000_000_000_9, 1_000_000_001],
  ])('is rounded up: $%d is %d', (usd, nanoUsd) => {
    expect(toNanoUsd(usd)).toBe(nanoUsd);
  });

  it('is never less than the cost, and a cap never more than the cap', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 15n }), (picoUsd) => {
        const usd = Number(picoUsd) / 1e12;

        expect(BigInt(toNanoUsd(usd)) * 1_000n).toBeGreaterThanOrEqual(picoUsd);
        expect(BigInt(capToNanoUsd(usd)) * 1_000n).toBeLessThanOrEqual(picoUsd);
      }),
    );
  });
});
