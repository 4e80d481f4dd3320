import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseSpec } from '../../../packages/core/src/builtins.ts';
import { gradeAnswer } from '../../../packages/core/src/scorers/grade-answer.ts';
import { isEqualJson, shareOfEqual } from '../../../packages/core/src/scorers/json/compare-json.ts';
import { findJson } from '../../../packages/core/src/scorers/json/find-json.ts';
import { followPointer } from '../../../packages/core/src/scorers/json/json-pointer.ts';
import { fulfils, jsonSchemaSchema } from '../../../packages/core/src/scorers/json/json-schema.ts';
import { aQuestion, aRecordedAnswer } from '../../support/builders.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';

const SCHEMA = { type: 'object', required: ['city'], properties: { city: { type: 'string' } } };
const grade = (output: string, target: string[] | null, parameters: object = {}) =>
  gradeAnswer(
    { kind: 'json', ...parameters },
    aQuestion({ target }),
    aRecordedAnswer({ output, finishReason: output.endsWith('cut') ? 'length' : 'stop' }),
    { userCode: inProcessPatterns },
  );

describe('the scorer json', () => {
  it.each([
    ['a value at a pointer', '{"a":[{"b":"Oslo"}]}', ['Oslo'], { pointer: '/a/0/b' }, 1, 'Oslo'],
    ['a number that the target writes as a text', '{"n":42}', ['42'], { pointer: '/n' }, 1, '42'],
    ['a text that is a number', '{"n":"42"}', ['42'], { pointer: '/n' }, 1, '42'],
    ['keys in any order', '{"b":2,"a":1.0}', ['{"a":1,"b":2}'], {}, 1, '{"b":2,"a":1}'],
    ['items in their order alone', '[2,1]', ['[1,2]'], {}, 0, '[2,1]'],
    ['any of the targets', '[2,1]', ['[1,2]', '[2, 1]'], {}, 1, '[2,1]'],
    [
      'digits that JavaScript drops',
      '9007199254740993',
      ['9007199254740992'],
      {},
      0,
      '9007199254740993',
    ],
    [
      'a part for a part',
      '{"a":1,"b":3}',
      ['{"a":1,"b":2}'],
      { compare: 'fields' },
      0.5,
      '{"a":1,"b":3}',
    ],
    [
      'nothing for what was not asked for',
      '{"a":1,"b":2,"c":3,"d":4}',
      ['{"a":1,"b":2}'],
      { compare: 'fields' },
      0.5,
      '{"a":1,"b":2,"c":3,"d":4}',
    ],
  ])('counts %s', async (_, output, target, parameters, score, answer) => {
    const found = await grade(output, target, parameters);

    expect([found.outcome, found.score, found.answer]).toEqual(['scored', score, answer]);
  });

  it('needs no target where there is a schema', async () => {
    expect(await grade('```json\n{"city":"Oslo"}\n```', null, { schema: SCHEMA })).toEqual({
      outcome: 'scored',
      score: 1,
      answer: '{"city":"Oslo"}',
      reason: null,
      metrics: { schema_valid: 1, equal_fields: null },
    });
    expect(await grade('{}', null)).toMatchObject({ outcome: 'ungraded', reason: 'no-target' });
  });

  it('gives an answer that its schema refuses no score, however well it compares', async () => {
    expect(await grade('{"city":1}', ['{"city":1}'], { schema: SCHEMA })).toMatchObject({
      score: 0,
      metrics: { schema_valid: 0, equal_fields: 1 },
    });
  });

  it.each([
    ['Oslo', {}, 'no-json'],
    ['{"city": "cut', {}, 'cut-off'],
    ['{"city":"Oslo"}', { pointer: '/town' }, 'no-value'],
    ['["Oslo"]', { pointer: '/length' }, 'no-value'],
    ['"[".'.repeat(50_000), {}, 'no-json'],
    ['['.repeat(200) + ']'.repeat(200), {}, 'no-json'],
  ])('finds nothing to compare in %.20j (%j)', async (output, parameters, reason) => {
    expect(await grade(output, ['Oslo'], parameters)).toMatchObject({
      outcome: 'unparsed',
      score: 0,
      reason,
    });
  });

  it.each([
    [{ schema: { pattern: '.' } }, 'scorers.q.schema.pattern: unknown key'],
    [
      { schema: { properties: { a: { $ref: '#' } } } },
      'scorers.q.schema.properties.a."$ref": unknown key (expected title, description',
    ],
    [{ pointer: 'answer' }, 'scorers.q.pointer: expected a JSON Pointer, as in "/answer"'],
    [{ compare: 'close' }, 'scorers.q.compare: expected "equal" or "fields"'],
  ])('is refused with %j', (parameters, problem) => {
    const document = {
      questions: 'q.jsonl',
      scorers: { q: { kind: 'json', ...parameters } },
      configs: [{ name: 'a', model: 'openai/x', scorer: 'q' }],
    };

    expect(() => parseSpec(document, 'demo.toml')).toThrow(problem);
  });
});

describe('the JSON of a text', () => {
  it.each([
    ['{"a":1}', { a: 1 }],
    ['First:\n```json\n{"a":1}\n```\nor rather\n```\n{"a":2}\n```', { a: 2 }],
    ['It is {"a":1}, I think.', { a: 1 }],
    ['It is [1, 2].', [1, 2]],
  ])('of %j is found', (text, value) => {
    expect(findJson(text)).toEqual({ value });
  });
});

describe('a JSON Pointer', () => {
  // RFC 6901, section 5.
  const document = { foo: ['bar', 'baz'], '': 0, 'a/b': 1, 'm~n': 8, ' ': 7 };

  it.each([
    ['', document],
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/m~0n', 8],
    ['/ ', 7],
    ['/foo/2', undefined],
    ['/foo/00', undefined],
    ['/toString', undefined],
  ])('%j leads to %j', (pointer, value) => {
    expect(followPointer(document, pointer)).toEqual(value);
  });
});

describe('a comparison of JSON', () => {
  it('is 1 exactly for equal values, and the same in both directions', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (left, right) => {
        const share = shareOfEqual(left, right);

        expect(share).toBe(shareOfEqual(right, left));
        expect(share === 1).toBe(isEqualJson(left, right));
        expect(isEqualJson(left, structuredClone(left))).toBe(true);
      }),
    );
  });
});

describe('a comparison of JSON, place by place', () => {
  /** The text of each leaf by its whole path: the definition, whose paths take quadratic time to write. */
  function leavesOf(value: unknown, place = ''): readonly (readonly [string, string])[] {
    const items = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    const mark = Array.isArray(value) ? 'item' : 'key';
    return items.length === 0
      ? [[place, JSON.stringify(value)]]
      : items.flatMap(([key, item]) => leavesOf(item, `${place}/${mark} ${JSON.stringify(key)}`));
  }
  const small = fc.letrec((tie) => ({
    value: fc.oneof(
      fc.constantFrom(0, 1, '1', null, true, [], {}),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', '0', '1'), tie('value'), { maxKeys: 3 }),
    ),
  })).value;

  it('counts the leaves that stand alike at the same places', () => {
    fc.assert(
      fc.property(small, small, (left, right) => {
        const [ofLeft, ofRight] = [new Map(leavesOf(left)), new Map(leavesOf(right))];
        const alike = [...ofLeft].filter(([place, leaf]) => ofRight.get(place) === leaf).length;
        const places = new Set([...ofLeft.keys(), ...ofRight.keys()]).size;

        expect(shareOfEqual(left, right)).toBeCloseTo(alike / places, 12);
      }),
    );
  });

  it('counts as different what is not equal', () => {
    fc.assert(
      fc.property(fc.array(small, { maxLength: 5 }), (values) => {
        const isUnique = values.every((value, at) =>
          values.slice(0, at).every((earlier) => !isEqualJson(earlier, value)),
        );

        expect(fulfils(values, { uniqueItems: true })).toBe(isUnique);
      }),
    );
  });

  // A comparison that writes the path of each leaf takes many minutes, which the time limit of a test ends.
  it('ends in time for long keys, deeply nested around many leaves', async () => {
    const leaves = Array.from({ length: 100_000 }, (_, index) => index);
    const nested = (depth: number): unknown =>
      depth === 0 ? leaves : { ['k'.repeat(5_000)]: nested(depth - 1) };
    const text = JSON.stringify(nested(90));

    const { outcome, score } = await grade(text, [text], { compare: 'fields' });

    expect([outcome, score]).toEqual(['scored', 1]);
    expect(fulfils([nested(90), nested(90)], { uniqueItems: true })).toBe(false);
  });
});

describe('a schema', () => {
  it.each([
    [{ type: 'integer' }, 1, 1.5],
    [{ type: ['null', 'string'] }, null, 1],
    [{ type: 'array' }, [], {}],
    [{ enum: ['a', { b: 1 }] }, { b: 1 }, 'b'],
    [{ const: null }, null, 0],
    [{ properties: { a: { type: 'number' } } }, 'text', { a: 'x' }],
    [{ required: ['a'] }, { a: null }, {}],
    [{ properties: { a: {} }, additionalProperties: false }, { a: 1 }, { b: 1 }],
    [{ additionalProperties: { type: 'string' } }, { a: 'x' }, { a: 1 }],
    [{ minProperties: 1, maxProperties: 1 }, { a: 1 }, {}],
    [{ items: { type: 'string' } }, ['a'], ['a', 1]],
    [{ prefixItems: [{ const: 1 }], items: { const: 2 } }, [1, 2, 2], [1, 1]],
    [{ minItems: 1, maxItems: 2 }, [1], [1, 2, 3]],
    [
      { uniqueItems: true },
      [1, { a: 1 }, { a: 2 }],
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
    [{ minLength: 1, maxLength: 1 }, '😀', ''],
    [{ minimum: 1, exclusiveMaximum: 2 }, 1, 2],
    [{ maximum: 2, exclusiveMinimum: 1 }, 2, 1],
    [{ anyOf: [{ const: 1 }, { const: 2 }] }, 2, 3],
    [{ allOf: [{ minimum: 1 }, { maximum: 2 }] }, 1, 3],
    [{ oneOf: [{ minimum: 1 }, { maximum: 2 }] }, 3, 1],
    [{ not: { type: 'string' } }, 1, 'a'],
    [{ title: 'Anything' }, 'a', undefined],
  ])('%j is fulfilled by %j and not by %j', (schema, right, wrong) => {
    const parsed = jsonSchemaSchema.parse(schema);

    expect(fulfils(right, parsed)).toBe(true);
    if (wrong !== undefined) expect(fulfils(wrong, parsed)).toBe(false);
  });
});
