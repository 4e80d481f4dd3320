import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseQuantity } from '../../../packages/core/src/scorers/numeric/extract-number.ts';
import {
  formatQuantity,
  isWithin,
  type Quantity,
} from '../../../packages/core/src/scorers/numeric/quantity.ts';

describe('parseQuantity', () => {
  it.each([
    ['42', '42'],
    [' -1,234.50 ', '-1234.5'],
    ['1/2', '0.5'],
    ['2 1/2', '2.5'],
    ['3½', '3.5'],
    ['\\frac{1}{3}', '1/3'],
    ['-$5', '-5'],
    ['$ -5', '-5'],
    ['7 €', '7'],
    ['50%', '50%'],
    ['1,5', '1.5'],
    ['1.234,5', '1234.5'],
    ['6.02 x 10^23', '6.02e23'],
    ['1e-9', '1e-9'],
    ['5 million', '5000000'],
    ['90°', '90'],
    ['9007199254740993', '9007199254740993'],
    ['0.05e-9998', '5e-10000'],
    ['55e9999', '5.5e10000'],
  ])('reads %j as %s', (text, quantity) => {
    const parsed = parseQuantity(text);

    expect(parsed && formatQuantity(parsed)).toBe(quantity);
  });

  it.each([
    '',
    'ten',
    'about 10',
    '10-4',
    '1,2,3',
    '(1,2)',
    '5 apples',
    '1/0',
    '1e99999',
    '55e10000',
    'x = 5',
  ])('reads nothing from %j', (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });
});

describe('isWithin', () => {
  it.each<[string, string, number, number, boolean]>([
    ['9007199254740993', '9007199254740992', 0, 0, false],
    ['0.3', '0.30', 0, 0, true],
    ['1/3', '0.3333', 0, 0, false],
    ['1/3', '0.3333', 0.0001, 0, true],
    // 0.1 + 0.2 as doubles is more than 0.3.
    ['0.1', '0.4', 0.3, 0, true],
    ['99', '100', 0, 0.01, true],
    ['98.9', '100', 0, 0.01, false],
    ['0', '0.001', 0, 0.5, false],
    ['50%', '50', 0, 0, true],
    ['50%', '0.5', 0, 0, true],
    ['50', '0.5', 0, 0, false],
    ['50%', '0.5%', 0, 0, false],
    ['51%', '0.5', 0.01, 0, true],
  ])('compares %s with %s, tolerance %d, relative %d', (a, b, absolute, relative, expected) => {
    expect(isWithin(quantityOf(a), quantityOf(b), { absolute, relative })).toBe(expected);
  });

  it('is reflexive and symmetric', () => {
    fc.assert(
      fc.property(quantities, quantities, tolerances, tolerances, (a, b, absolute, relative) => {
        const tolerance = { absolute, relative };

        expect(isWithin(a, a, tolerance)).toBe(true);
        expect(isWithin(a, b, tolerance)).toBe(isWithin(b, a, tolerance));
      }),
    );
  });

  it('agrees with whole numbers of thousandths', () => {
    const thousandths = fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n });
    const gaps = fc.bigInt({ min: -2000n, max: 2000n });

    fc.assert(
      fc.property(thousandths, gaps, fc.integer({ min: 0, max: 2000 }), (a, gap, allowed) => {
        const [first, second] = [a, a + gap].map((value) => ({
          value: { numerator: value, denominator: 1000n },
          isPercent: false,
        }));
        const tolerance = { absolute: allowed / 1000, relative: 0 };

        const isClose = first && second && isWithin(first, second, tolerance);

        expect(isClose).toBe((gap < 0n ? -gap : gap) <= BigInt(allowed));
      }),
    );
  });

  it('treats quantities with the same text as equal, and others as different', () => {
    fc.assert(
      fc.property(quantities, quantities, (a, b) => {
        const isEqual = isWithin(a, b, { absolute: 0, relative: 0 });

        fc.pre(a.isPercent === b.isPercent);
        expect(formatQuantity(a) === formatQuantity(b)).toBe(isEqual);
      }),
    );
  });
});

describe('formatQuantity', () => {
  it('writes a text that is read back as the same quantity', () => {
    fc.assert(
      fc.property(quantities, (quantity) => {
        const parsed = parseQuantity(formatQuantity(quantity));

        expect(parsed && isWithin(parsed, quantity, { absolute: 0, relative: 0 })).toBe(true);
        expect(parsed?.isPercent).toBe(quantity.isPercent);
      }),
    );
  });
});

const tolerances = fc.constantFrom(0, 0.1, 1, 1e-7, 100);
const quantities: fc.Arbitrary<Quantity> = fc
  .tuple(
    fc.oneof(
      fc.bigInt({ min: -50n, max: 50n }),
      fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
    ),
    fc.oneof(
      fc.constantFrom(1n, 2n, 10n, 10n ** 12n, 2n ** 3000n, 10n ** 950n),
      fc.bigInt({ min: 1n, max: 50n }),
    ),
    fc.boolean(),
  )
  .map(([numerator, denominator, isPercent]) => ({
    value: { numerator, denominator },
    isPercent,
  }));

function quantityOf(text: string): Quantity {
  const quantity = parseQuantity(text);
  if (quantity === undefined) throw new Error(`no quantity: ${text}`);
  return quantity;
}
