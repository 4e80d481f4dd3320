import { mapBounded, pagesOf } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

async function nextTurn(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}

describe('mapBounded', () => {
  it('keeps the order and the limit, whichever item takes longest', async () => {
    const turns = fc.array(fc.nat({ max: 4 }), { maxLength: 30 });
    const bound = fc.integer({ min: 1, max: 8 });

    await fc.assert(
      fc.asyncProperty(turns, bound, async (items, limit) => {
        let inFlight = 0;
        let mostInFlight = 0;

        const results = await mapBounded(items, limit, async (turnCount) => {
          inFlight += 1;
          mostInFlight = Math.max(mostInFlight, inFlight);
          for (let turn = 0; turn < turnCount; turn += 1) await nextTurn();
          inFlight -= 1;
          return turnCount * 2;
        });

        expect(results).toEqual(items.map((item) => item * 2));
        expect(mostInFlight).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 50, seed: 11 },
    );
  });

  it('throws the first error after the items in flight have settled, and starts no further item', async () => {
    const failure = new Error('no');
    const begun: number[] = [];
    const ended: number[] = [];

    const mapped = mapBounded([0, 1, 2, 3, 4], 2, async (item) => {
      begun.push(item);
      if (item === 0) throw failure;
      await nextTurn();
      ended.push(item);
    });

    await expect(mapped).rejects.toBe(failure);
    expect(begun).toEqual([0, 1]);
    expect(ended).toEqual([1]);
  });
});

describe('pagesOf', () => {
  it('splits any list into full pages and a remainder', () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), fc.integer({ min: 1, max: 7 }), (items, size) => {
        const pages = pagesOf(items, size);

        expect(pages.flat()).toEqual(items);
        expect(pages.slice(0, -1).every((page) => page.length === size)).toBe(true);
        expect(pages.every((page) => page.length >= 1 && page.length <= size)).toBe(true);
      }),
    );
  });
});
