import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { extractNumber } from '../../../packages/core/src/scorers/numeric/extract-number.ts';

const read = (text: string) => extractNumber({ text, isCutOff: false });

describe('extractNumber', () => {
  it.each([
    ['a whole number', 'It is 42', '42'],
    ['a number before a period', 'It is 5.', '5'],
    ['thousands separators', 'about 1,234,567.50 in all', '1234567.5'],
    ['a sign in parentheses', 'x (-3)', '-3'],
    ['a power of ten', 'c = 2.99e8 m/s', '299000000'],
    ['the last of several', '3 and 4, hence 7', '7'],
    ['a percentage', 'some 5%', '5%'],
    ['a fraction without an end', 'the answer is 2/6', '1/3'],
    ['a fraction with an end', 'the answer is 3/8', '0.375'],
    ['the last statement', 'The answer is 4. So the final answer is 5.', '5'],
    ['a statement before other numbers', 'The answer is 4. I took 3 steps.', '4'],
    ['the last explicit form', 'The answer is 4 each, in total \\boxed{12}.', '12'],
  ])('reads the number from %s', (_, text, number) => {
    expect(read(text)).toBe(number);
  });

  it.each(['', 'none', '-', '.', 'e', ',,,'])('finds no number in %j', (text) => {
    expect(read(text)).toBeUndefined();
  });

  it.each([
    ['a range', 'pages 10-4'],
    ['a term', 'f(x)-4'],
    ['groups that are no thousands', '1,234,5678'],
    ['an address', 'ping 10.0.0.1'],
    ['more digits than an answer has', '9'.repeat(1001)],
    ['a power of ten that would fill the memory', '1e999999999'],
  ])('leaves open what %s means', (_, text) => {
    expect(read(text)).toBeUndefined();
  });

  it('returns a text that it reads as the same number', () => {
    const texts = fc.string({ unit: fc.constantFrom(...'0123456789-+,.eE/% '), maxLength: 12 });

    fc.assert(
      fc.property(texts, (text) => {
        const number = read(text);

        fc.pre(number !== undefined);
        expect(read(number ?? '')).toBe(number);
      }),
    );
  });

  it('never throws, whatever the text', () => {
    const parts = fc.oneof(
      fc.string({ maxLength: 5 }),
      fc.constantFrom(
        ...[
          'answer is ',
          'Answer: ',
          '\\boxed{',
          '}',
          '#### ',
          '"answer": ',
          '\\frac',
          '{',
          '$',
          '%',
        ],
        ...[
          '1',
          '2.5',
          '-3',
          '1,000',
          ' 1/2',
          '√',
          '×10^',
          '= ',
          '\n',
          '**',
          '½',
          '٣',
          '(',
          ')',
          ' and ',
        ],
      ),
    );

    fc.assert(
      fc.property(fc.array(parts, { maxLength: 30 }), fc.boolean(), (pieces, isCutOff) => {
        const number = extractNumber({ text: pieces.join(''), isCutOff });

        expect(number ?? '0').toMatch(/^-?\d+(?:\.\d+)?(?:e-?\d+|\/\d+)?%?$/);
      }),
    );
  });

  it('reads any number back, however it is written in a statement', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 40n }),
        fc.stringMatching(/^(?:[0-9]{0,11}[1-9])?$/),
        fc.constantFrom(...styles),
        fc.constantFrom('', '-', '−', '+'),
        fc.constantFrom(...statements),
        (whole, decimals, style, sign, state) => {
          const written = style.write(String(whole), decimals);
          // Longer ends of zeros are written as a power of ten.
          fc.pre(written !== undefined && !/0{21}$/.test(String(whole)));
          const plain = decimals === '' ? String(whole) : `${whole}.${decimals}`;
          const isNegative = /[-−]/.test(sign) && /[1-9]/.test(plain);

          expect(read(state(`${sign}${written}`))).toBe(canonical(plain, isNegative));
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('extractNumber for a long, hostile text', () => {
  // What takes quadratic time on one of these takes minutes, which the time limit of the test ends.
  const pumps = [
    ...[
      ' ',
      '\n',
      '1',
      '1,',
      '1.5.',
      '1 000 ',
      '1 1/2 ',
      ' (1) ',
      '½',
      '\\boxed{',
      '\\boxed{1} and ',
    ],
    ...[
      '\\frac{1}{',
      '{',
      '**1** ',
      '= 1 ',
      'answer is 1 ',
      'the answer to ',
      'is the answer ',
      '答案',
    ],
    ...['"answer": "1', 'confidence: 1 ', 'not 1 ', 'actually 1 ', '1 million', '±1'],
    ...[
      '(1, ',
      '1 is ',
      ', 1 more than ',
      'wrong answer is 1 ',
      'if the answer is 1 ',
      '1 of the ',
    ],
    ...[
      'http://',
      'Therefore 1. ',
      '1 per a and ',
      '1 hour 1 ',
      '1 in 1 days ',
      'the $1 a ',
      '\nB: 1',
    ],
    ...[
      'the answer is one hundred ',
      'Antwort 1.000 ',
      'I cannot ',
      'because ',
      'Note 1. ',
      '1! = ',
    ],
  ];

  it.each(pumps)(
    'ends in time for %j',
    (pump) => {
      const text = `1${pump.repeat(1_000_000 / pump.length)} the answer is 7`;

      expect(read(text) ?? '0').toMatch(/^-?\d/);
    },
    60_000,
  );
});

/** Ways to write a number; undefined where the style would mean another number, as 1.234 does. */
const styles: readonly {
  readonly name: string;
  write(whole: string, decimals: string): string | undefined;
}[] = [
  { name: 'plain', write: (whole, decimals) => withDecimals(whole, '.', decimals) },
  { name: 'comma', write: (whole, decimals) => withDecimals(group(whole, ','), '.', decimals) },
  { name: 'braces', write: (whole, decimals) => withDecimals(group(whole, '{,}'), '.', decimals) },
  ...[' ', '\u00a0', '\u202f', '\u2009', '\\,', "'", '’', '_'].map((separator) => ({
    name: separator,
    write: (whole: string, decimals: string) =>
      withDecimals(group(whole, separator), '.', decimals),
  })),
  {
    name: 'European',
    write: (whole, decimals) => {
      const isAmbiguous =
        decimals === '' ? whole.length > 3 && whole.length < 7 : decimals.length === 3;
      return isAmbiguous ? undefined : withDecimals(group(whole, '.'), ',', decimals);
    },
  },
  {
    name: 'lakh',
    write: (whole, decimals) =>
      withDecimals(whole.replace(/\B(?=(?:\d{2})*\d{3}$)/g, ','), '.', decimals),
  },
  {
    name: 'full-width',
    write: (whole, decimals) =>
      withDecimals(whole, '.', decimals).replace(/\d/g, (digit) =>
        String.fromCharCode(0xff10 + Number(digit)),
      ),
  },
];

const statements: readonly ((number: string) => string)[] = [
  (number) => `First 3, then 4. The answer is ${number}.`,
  (number) => `**Final answer:** ${number} apples, I took 7 steps.`,
  (number) => `2 + 2 = 4.\n\n\\boxed{${number}}`,
  (number) => `So it costs $5.\n#### ${number}`,
  (number) => `{"steps": 3, "answer": "${number.replaceAll('\\', '\\\\')}", "confidence": 0.9}`,
  (number) => `La réponse est ${number}`,
  (number) => `x = ${number}`,
];

function withDecimals(whole: string, sign: string, decimals: string): string {
  return decimals === '' ? whole : `${whole}${sign}${decimals}`;
}

function group(whole: string, separator: string): string {
  return whole.replace(/\B(?=(?:\d{3})+$)/g, () => separator);
}

/** The number as the scorer writes it: no power of ten occurs among those tried, but small ones. */
function canonical(plain: string, isNegative: boolean): string {
  const small = /^0\.(0{7,})(\d)(\d*)$/.exec(plain);
  const [, zeros = '', first = '', rest = ''] = small ?? [];
  const text = small ? `${first}${rest && `.${rest}`}e-${zeros.length + 1}` : plain;
  return `${isNegative ? '-' : ''}${text}`;
}
