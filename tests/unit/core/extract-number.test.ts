import { extractNumber } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

describe('extractNumber', () => {
  it.each([
    ['a whole number', 'It is 42', '42'],
    ['a number before a period', 'It is 5.', '5'],
    ['thousands separators', 'about 1,234,567.50 in all', '1234567.50'],
    ['narrow spaces as separators', 'about 12\u202f345', '12345'],
    ['a lone decimal part', 'p < .05', '.05'],
    ['a sign', 'so x = -3', '-3'],
    ['a typographic minus', 'so x = −3', '-3'],
    ['a sign in parentheses', 'x (-3)', '-3'],
    ['a dash between numbers', 'pages 10-4', '4'],
    ['a dash after a parenthesis', 'f(x)-4', '4'],
    ['an exponent', 'c = 2.99e8 m/s', '2.99e8'],
    ['a currency', 'It costs $12.', '12'],
    ['a percentage', 'some 5%', '5'],
    ['the last of several', '3 and 4, hence 7', '7'],
    ['groups that are not thousands', '12,34', '34'],
    ['a group with one digit too many', '1,234,5678', '5678'],
  ])('reads the number from %s', (_, text, digits) => {
    expect(extractNumber(text)).toBe(digits);
  });

  it.each(['', 'none', '-', '.', 'e', ',,,'])('finds no number in %j', (text) => {
    expect(extractNumber(text)).toBeUndefined();
  });

  it('reads any number written with thousands separators', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 15n }),
        fc.constantFrom('', '-', '+'),
        fc.option(fc.stringMatching(/^\d{1,6}$/), { nil: undefined }),
        fc.constantFrom(',', '\u202f', '\u00a0'),
        fc.constantFrom('', '.', ' apples', ') of all', '\n'),
        (whole, sign, decimals, separator, after) => {
          const plain = `${whole}${decimals === undefined ? '' : `.${decimals}`}`;
          const grouped = groupThousands(String(whole), separator) + plain.slice(`${whole}`.length);

          expect(extractNumber(`12 of them make ${sign}${grouped}${after}`)).toBe(sign + plain);
        },
      ),
    );
  });

  it('returns digits that parse as a number for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123456789-+,.eE ') }), (text) => {
        const digits = extractNumber(text);

        expect(digits === undefined).toBe(!/\d/.test(text));
        expect(Number.isNaN(Number(digits ?? '0'))).toBe(false);
      }),
    );
  });
});

function groupThousands(digits: string, separator: string): string {
  return digits.replace(/\B(?=(?:\d{3})+$)/g, separator);
}
