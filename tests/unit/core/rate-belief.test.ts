import { beliefAfterRefusal, believedPerMinute, firstBelief, type RateBelief } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const nowMs = Date.parse('2026-01-02T03:04:05.000Z');
const lagMs = 400;

function aBelief(parts: Partial<RateBelief> = {}): RateBelief {
  return {
    ...{ perMinute: 6_000, perCall: 1, takenPerMinute: 0, fellAtMs: nowMs, waitMs: 0 },
    ...{ phase: 'found', ...parts },
  };
}

function refusedAfter(belief: RateBelief, ms: number, retryAfterMs?: number): RateBelief {
  const sentAtMs = belief.fellAtMs + ms;
  return beliefAfterRefusal(belief, {
    ...{ nowMs: sentAtMs + 50, sentAtMs, retryAfterMs, lagMs, refusedRatio: 0, hasFallen: false },
  });
}

describe('what refusals show of a rate limit', () => {
  it.each([
    [undefined, 60],
    [5_000, 60],
    [200, 300],
    [1, 6_000],
  ])('begins with the wait that the vendor asks for: %s ms', (retryAfterMs, perMinute) => {
    expect(firstBelief({ nowMs, retryAfterMs }, { perCall: 1 }).perMinute).toBe(perMinute);
  });

  it('doubles in each second until the next refusal', () => {
    const first = firstBelief({ nowMs, retryAfterMs: 100 }, { perCall: 1 });

    const rates = [0, 1_000, 3_000].map((ms) => believedPerMinute(first, first.fellAtMs + ms));

    expect(rates).toEqual([600, 1_200, 4_800]);
  });

  it('falls deep while it is searched, then by little, and deeper if that was not enough', () => {
    const first = firstBelief({ nowMs, retryAfterMs: 100 }, { perCall: 1 });

    const searched = refusedAfter(first, 2_000);
    const found = refusedAfter(searched, 10_000);
    const steep = refusedAfter(found, 1_000);

    expect(searched).toMatchObject({ perMinute: 2_400 * 0.7, phase: 'approaching' });
    expect(found.phase).toBe('found');
    expect(found.perMinute).toBeCloseTo(
      0.93 * believedPerMinute(searched, searched.fellAtMs + 10_000),
    );
    expect(steep.perMinute).toBeCloseTo(0.85 * believedPerMinute(found, found.fellAtMs + 1_000));
  });

  it('adds the same in each second until the limit should have been met, then more and more', () => {
    const belief = aBelief();
    const rateAt = (seconds: number) => believedPerMinute(belief, nowMs + seconds * 1_000);

    expect(rateAt(10) - rateAt(0)).toBeCloseTo(rateAt(20) - rateAt(10));
    expect(rateAt(30) / rateAt(0)).toBeCloseTo(1.07);
    expect(rateAt(90) / rateAt(0)).toBeGreaterThan(2);
  });

  it('falls deep again once it has risen far above the last fall', () => {
    const belief = aBelief();

    const raised = refusedAfter(belief, 100_000);

    const believed = believedPerMinute(belief, nowMs + 100_000);
    expect(raised).toMatchObject({ perMinute: 0.85 * believed, phase: 'approaching' });
  });

  it('falls below what was answered of the rate, which tells what the lane takes', () => {
    const belief = aBelief();
    const sentAtMs = nowMs + 10_000;
    const refusal = { nowMs: sentAtMs, sentAtMs, retryAfterMs: undefined, lagMs };

    const fallen = beliefAfterRefusal(belief, { ...refusal, refusedRatio: 0.2, hasFallen: false });

    const answered = 0.8 * believedPerMinute(belief, sentAtMs);
    expect(fallen.perMinute).toBeCloseTo(0.93 * answered);
    expect(fallen.takenPerMinute).toBeCloseTo(0.96 * answered);
  });

  it('takes the calls that were in flight together for one refusal', () => {
    const belief = aBelief();

    expect(refusedAfter(belief, lagMs - 1)).toBe(belief);
    expect(refusedAfter(belief, lagMs)).not.toBe(belief);
  });

  it('waits as long as the vendor asks before it rises, and rises slower after a long wait', () => {
    const held = refusedAfter(aBelief(), 60_000, 5_000);

    expect(believedPerMinute(held, held.fellAtMs - 1)).toBe(held.perMinute);
    expect(believedPerMinute(held, held.fellAtMs + 100_000) / held.perMinute).toBeLessThan(1.05);
  });

  it('falls from what was used where nobody used all of it', () => {
    const sentAtMs = nowMs + 100_000;
    const refusal = {
      nowMs: sentAtMs,
      sentAtMs,
      retryAfterMs: undefined,
      lagMs,
      refusedRatio: 0,
      hasFallen: false,
    };

    const fallen = beliefAfterRefusal(aBelief(), { ...refusal, usedPerMinute: 1_000 });

    expect(fallen.perMinute).toBeCloseTo(930);
  });

  it('is always a positive rate that never falls by itself, wherever the clock goes', () => {
    const wait = fc.option(fc.integer({ min: 1, max: 300_000 }), { nil: undefined });

    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: -1e6, max: 1e7 }), wait), { maxLength: 40 }),
        fc.integer({ min: 1, max: 5_000 }),
        (refusals, perCall) => {
          let belief = firstBelief({ nowMs, retryAfterMs: undefined }, { perCall });
          for (const [ms, retryAfterMs] of refusals) {
            belief = refusedAfter(belief, ms, retryAfterMs);
            const rates = [-1e6, 0, 1, 1e3, 1e5, 1e7].map((later) =>
              believedPerMinute(belief, belief.fellAtMs + later),
            );

            expect(Math.min(...rates)).toBeGreaterThan(0);
            expect(Number.isFinite(rates.at(-1))).toBe(true);
            expect(rates).toEqual([...rates].sort((a, b) => a - b));
          }
        },
      ),
      { seed: 11 },
    );
  });
});
