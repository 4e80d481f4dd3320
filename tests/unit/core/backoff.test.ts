import { backoffMs } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const settings = fc.record({
  baseMs: fc.integer({ min: 1, max: 10_000 }),
  factor: fc.integer({ min: 1, max: 1_000 }),
  draw: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
});

describe('backoff', () => {
  it.each([
    [1, 0, 250],
    [1, 0.5, 375],
    [2, 0, 500],
    [3, 0, 1_000],
    [7, 0, 16_000],
    [8, 0, 30_000],
    [100, 0, 30_000],
    [100, 0.5, 45_000],
  ])('after failure %i, with %d drawn, is %i ms', (failureCount, draw, expected) => {
    const waitMs = backoffMs(failureCount, { baseMs: 500, capMs: 60_000, random: () => draw });

    expect(waitMs).toBe(expected);
  });

  it('lies in the upper half of its delay, however often it failed', () => {
    fc.assert(
      fc.property(
        settings,
        fc.integer({ min: 1, max: 10_000 }),
        ({ baseMs, factor, draw }, count) => {
          const capMs = baseMs * factor;

          const waitMs = backoffMs(count, { baseMs, capMs, random: () => draw });

          const delayMs = Math.min(capMs, baseMs * 2 ** (count - 1));
          expect(waitMs).toBeGreaterThanOrEqual(delayMs / 2);
          expect(waitMs).toBeLessThanOrEqual(delayMs);
        },
      ),
    );
  });

  it('never shrinks with another failure', () => {
    fc.assert(
      fc.property(settings, fc.integer({ min: 1, max: 100 }), ({ baseMs, factor, draw }, count) => {
        const options = { baseMs, capMs: baseMs * factor, random: () => draw };

        expect(backoffMs(count + 1, options)).toBeGreaterThanOrEqual(backoffMs(count, options));
      }),
    );
  });

  it('draws once', () => {
    let draws = 0;
    const random = () => {
      draws += 1;
      return 0;
    };

    backoffMs(3, { baseMs: 500, capMs: 60_000, random });

    expect(draws).toBe(1);
  });
});
