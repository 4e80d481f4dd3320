import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { holm } from '../../../packages/core/src/statistics/holm.ts';
import { pValueOf } from '../../../packages/core/src/statistics/p-value.ts';

const logarithms = fc.array(fc.double({ min: -2_000, max: 0, noNaN: true }), { maxLength: 20 });

describe("Holm's method", () => {
  // https://en.wikipedia.org/wiki/Holm-Bonferroni_method#Example; R 4.4, p.adjust(c(.01, .04, .03, .005), "holm").
  it('matches a published example', () => {
    const adjusted = holm([0.01, 0.04, 0.03, 0.005].map((p) => pValueOf(Math.log(p))));

    const expected = [0.03, 0.06, 0.06, 0.02];
    for (const [index, p] of expected.entries()) expect(adjusted[index]?.p).toBeCloseTo(p, 12);
  });

  it('leaves a single test as it is, and nothing without one', () => {
    expect(holm([{ p: 0.04, log10P: Math.log10(0.04) }])).toEqual([
      { p: 0.04, log10P: Math.log10(0.04) },
    ]);
    expect(holm([])).toEqual([]);
  });

  it('is known by its logarithm where no number is small enough', () => {
    const [first, second] = holm([pValueOf(-2_000), pValueOf(-3)]);

    expect(first?.p).toBe(0);
    expect(first?.log10P).toBeCloseTo(-2_000 / Math.LN10 + Math.log10(2), 9);
    expect(second).toEqual(pValueOf(-3));
  });

  it('never lowers a p-value, keeps their order, and gives no more than 1', () => {
    fc.assert(
      fc.property(logarithms, (values) => {
        const before = values.map(pValueOf);

        const after = holm(before);

        const byBefore = before.map(
          (each, index) => [each.log10P, after[index]?.log10P ?? 1] as const,
        );
        byBefore.sort(([left], [right]) => left - right);
        const sorted = byBefore.map(([, log10P]) => log10P);
        expect(byBefore.filter(([own, log10P]) => log10P < own || log10P > 0)).toEqual([]);
        expect(sorted).toEqual(sorted.toSorted((left, right) => left - right));
      }),
    );
  });

  it('makes all equal ones as large as Bonferroni would', () => {
    const adjusted = holm(Array.from({ length: 5 }, () => pValueOf(Math.log(0.01))));

    for (const { p } of adjusted) expect(p).toBeCloseTo(0.05, 12);
  });
});
