import { canonicalText } from '@thrice/core';
import fc from 'fast-check';
import { parse } from 'smol-toml';
import { describe, expect, it } from 'vitest';

/** The same by a replacer, which JSON.stringify calls for each value. */
function textByReplacer(value: unknown): string {
  return JSON.stringify(value ?? null, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

const names = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toJSON',
    '',
    '0',
    '10',
    '9',
    '-1',
    '\u{1f600}',
    '\uffff',
  ),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.date(),
    fc.constantFrom(undefined, null, true, -0, 1e21, 5e-324, '\ud800', '\u2028'),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.array(fc.tuple(names, tie('value')), { maxLength: 5 }).map(Object.fromEntries),
  ),
}));

describe('the canonical text of a value', () => {
  it('is JSON with the keys of each object in order', () => {
    const text = canonicalText({ b: [{ d: undefined, c: 1 }], a: undefined, '': null });

    expect(text).toBe('{"":null,"b":[{"c":1}]}');
    expect(canonicalText(undefined)).toBe('null');
  });

  it('has the dates of a TOML file as they are sent', () => {
    const { extra_body } = parse(
      'extra_body = { until = 2026-11-22, since = 2026-11-22T23:00:00Z }',
    );

    expect(canonicalText(extra_body)).toBe(
      '{"since":"2026-11-22T23:00:00.000Z","until":"2026-11-22"}',
    );
  });

  it('is the text that a replacer makes, byte for byte, with unusual keys and values, too', () => {
    fc.assert(
      fc.property(value, (any) => {
        expect(canonicalText(any)).toBe(textByReplacer(any));
      }),
      { seed: 11, numRuns: 2_000 },
    );
  });
});
