import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  allowedAtMs,
  allowedBetween,
  perMinuteAt,
} from '../../../packages/core/src/domain/lanes/allowed-calls.ts';
import { aRateBelief } from '../../support/builders.ts';

const START_MS = 1_767_323_045_000;

/** Any rate, and a time at which it begins to count. */
const rates = fc.record({
  belief: fc.record({
    perMinute: fc.double({ min: 1, max: 10_000, noNaN: true }),
    perCall: fc.constant(1),
    fellAtMs: fc.integer({ min: START_MS - 600_000, max: START_MS + 60_000 }),
    takenPerMinute: fc.constant(0),
    waitMs: fc.integer({ min: 0, max: 10_000 }),
    phase: fc.constantFrom('searching' as const, 'approaching' as const, 'found' as const),
  }),
  capPerMinute: fc.double({ min: 1, max: 60_000, noNaN: true }),
});

describe('the calls that a rate allows', () => {
  it('are those of its minutes where it does not rise', () => {
    const rate = { belief: null, capPerMinute: 120 };

    expect(allowedBetween(rate, 0, 90_000)).toBe(180);
    expect(allowedAtMs(rate, 1_000, 4)).toBe(3_000);
  });

  it('have no end where nothing limits it', () => {
    const rate = { belief: null, capPerMinute: Number.POSITIVE_INFINITY };

    expect(allowedBetween(rate, 0, 1)).toBe(Number.POSITIVE_INFINITY);
    expect(allowedBetween(rate, 5, 5)).toBe(0);
    expect(allowedAtMs(rate, 5, 1e9)).toBe(5);
  });

  it.each(['searching', 'approaching', 'found'] as const)(
    'are a number months after a refusal has shown the only limit, which was %s',
    (phase) => {
      const belief = aRateBelief({ phase, fellAtMs: START_MS });
      const rate = { belief, capPerMinute: Number.POSITIVE_INFINITY };
      const monthMs = 30 * 86_400_000;

      const allowed = allowedBetween(rate, START_MS + monthMs, START_MS + monthMs + 60_000);

      expect(allowed).toBe(perMinuteAt(rate, START_MS + monthMs));
      expect(allowed).toBe(60e6);
    },
  );

  it('are the sum of what it allows at each moment', () => {
    const count = (rate: Parameters<typeof allowedBetween>[0], toMs: number) => {
      let sum = 0;
      for (let atMs = START_MS; atMs < toMs; atMs += 5) {
        sum += (perMinuteAt(rate, atMs + 2.5) * 5) / 60_000;
      }
      return sum;
    };
    fc.assert(
      fc.property(rates, fc.integer({ min: 0, max: 20_000 }), (rate, ms) => {
        const toMs = START_MS + 5 * Math.floor(ms / 5);

        const summed = count(rate, toMs);
        const tolerance = 0.001 * summed + 0.001;
        expect(Math.abs(allowedBetween(rate, START_MS, toMs) - summed)).toBeLessThan(tolerance);
      }),
      { numRuns: 50 },
    );
  });

  it('are allowed at the time at which so many are', () => {
    fc.assert(
      fc.property(rates, fc.integer({ min: 0, max: 1_000 }), (rate, count) => {
        const atMs = allowedAtMs(rate, START_MS, count);

        const tolerance = 0.01 + perMinuteAt(rate, atMs) / 60_000;
        expect(Math.abs(allowedBetween(rate, START_MS, atMs) - count)).toBeLessThan(tolerance);
      }),
    );
  });

  it('stay at the cap that the rate reaches', () => {
    const belief = aRateBelief({ perMinute: 60, fellAtMs: START_MS, phase: 'searching' });
    const rate = { belief, capPerMinute: 600 };

    const late = allowedBetween(rate, START_MS + 3_600_000, START_MS + 3_660_000);

    expect(late).toBeCloseTo(600, 6);
  });
});
