import { type FinishReason, limits, type UserCode } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RecordedAnswer } from '../../../packages/core/src/domain/cell.ts';
import type { ScorerSpec } from '../../../packages/core/src/domain/scorer.ts';
import { gradeAnswer } from '../../../packages/core/src/scorers/grade-answer.ts';
import { scorerRegistry } from '../../../packages/core/src/scorers/registry.ts';
import { aQuestion, aRecordedAnswer } from '../../support/builders.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';

const everyScorer: readonly ScorerSpec[] = [
  { kind: 'exact' },
  { kind: 'choice' },
  { kind: 'includes' },
  { kind: 'bbh' },
  { kind: 'numeric', tolerance: 0 },
  { kind: 'regex', pattern: '= (\\w+)' },
];
const grader = { userCode: inProcessPatterns };
const colors = ['red', 'green', 'blue'];

describe('gradeAnswer', () => {
  it.each<[string, ScorerSpec, string, string, number, string]>([
    ['exact accepts the same text, trimmed', { kind: 'exact' }, ' 42\n', ' 42 ', 1, '42'],
    ['exact is case-sensitive', { kind: 'exact' }, 'yes', 'Yes', 0, 'yes'],
    ['exact rejects additional text', { kind: 'exact' }, 'It is 42', '42', 0, 'It is 42'],
    [
      'includes finds the target inside the text, ignoring case',
      { kind: 'includes' },
      'In PARIS.',
      'paris',
      1,
      'In PARIS.',
    ],
    [
      'includes rejects a text without the target',
      { kind: 'includes' },
      'In Rome.',
      'Paris',
      0,
      'In Rome.',
    ],
    [
      'bbh reads the text after "the answer is"',
      { kind: 'bbh' },
      'So the answer is (B).',
      '(B)',
      1,
      '(B)',
    ],
    ['bbh does not trim the target', { kind: 'bbh' }, 'True', 'True ', 0, 'True'],
    [
      'numeric compares numbers',
      { kind: 'numeric', tolerance: 0 },
      'It is 1,000.0',
      '1000',
      1,
      '1000',
    ],
    [
      'numeric accepts a number at the tolerance',
      { kind: 'numeric', tolerance: 0.5 },
      '41.5',
      '42',
      1,
      '41.5',
    ],
    [
      'numeric rejects a number beyond the tolerance',
      { kind: 'numeric', tolerance: 0.5 },
      '41.4',
      '42',
      0,
      '41.4',
    ],
    [
      'numeric never matches a target without a number',
      { kind: 'numeric', tolerance: 9 },
      '3',
      'three',
      0,
      '3',
    ],
    [
      'regex reads its first group',
      { kind: 'regex', pattern: 'x = (\\d+)' },
      'x = 42!',
      '42',
      1,
      '42',
    ],
    [
      'regex without a group reads the whole match',
      { kind: 'regex', pattern: '\\d+' },
      'x = 42!',
      '42',
      1,
      '42',
    ],
    [
      'regex reads its group "answer" rather than its first one',
      { kind: 'regex', pattern: '(x|y) = (?<answer>\\d+)' },
      'y = 42',
      '42',
      1,
      '42',
    ],
    [
      'regex reads the first match',
      { kind: 'regex', pattern: 'x = (.*)', match: 'first' },
      'x = 41 \nx = 42 ',
      '42',
      0,
      '41',
    ],
    [
      'regex reads the last match on request, trimmed',
      { kind: 'regex', pattern: 'x = (.*)', match: 'last' },
      'x = 41 \nx = 42 ',
      '42',
      1,
      '42',
    ],
    ['includes finds a part of a word', { kind: 'includes' }, 'A party.', 'art', 1, 'A party.'],
    [
      'includes finds only whole words on request',
      { kind: 'includes', word: true },
      'A party.',
      'art',
      0,
      'A party.',
    ],
    [
      'includes finds a word after a longer one, in any case',
      { kind: 'includes', word: true },
      'The party of ART',
      'art',
      1,
      'The party of ART',
    ],
    [
      'includes knows the letters of all scripts',
      { kind: 'includes', word: true },
      'Größe',
      'größ',
      0,
      'Größe',
    ],
    [
      'includes finds whole words in any script',
      { kind: 'includes', word: true },
      'Это Москва.',
      'москва',
      1,
      'Это Москва.',
    ],
    [
      'includes finds a number that is not a part of another',
      { kind: 'includes', word: true },
      'In 1492 or 149',
      '149',
      1,
      'In 1492 or 149',
    ],
    [
      'includes needs no boundary beside a sign',
      { kind: 'includes', word: true },
      'It costs US$5',
      '$5',
      1,
      'It costs US$5',
    ],
    [
      'includes does not cut an emoji or a rare letter in half',
      { kind: 'includes', word: true },
      '𠮷art',
      'art',
      0,
      '𠮷art',
    ],
  ])('%s', async (_, scorer, text, target, score, answer) => {
    const question = aQuestion({ target: [target] });

    const grade = await gradeAnswer(scorer, question, aRecordedAnswer({ output: text }), grader);

    expect(grade).toEqual({ outcome: 'scored', score, answer, reason: null });
  });

  it.each([
    ['a letter', 'B', 'Answer: B'],
    ['a letter in parentheses', '(B)', 'Answer: B'],
    ["a choice's text", 'green', 'Answer: B'],
    ['a letter and the answer a text', 'B', 'Answer: green'],
  ])('compares choices if the target is %s', async (_, target, text) => {
    const question = aQuestion({ target: [target], choices: colors });

    const grade = await gradeAnswer(
      { kind: 'choice' },
      question,
      aRecordedAnswer({ output: text }),
      grader,
    );

    expect(grade).toEqual({ outcome: 'scored', score: 1, answer: 'B', reason: null });
  });

  it('accepts any of several targets', async () => {
    const question = aQuestion({ target: ['forty-two', '42'] });

    const grade = await gradeAnswer({ kind: 'exact' }, question, aRecordedAnswer(), grader);

    expect(grade.score).toBe(1);
  });

  it.each(everyScorer.map((scorer) => [scorer.kind, scorer] as const))(
    '%s never sees the reasoning in a text',
    async (_, scorer) => {
      const question = aQuestion({ target: ['B'], choices: colors });
      const answer = scorer.kind === 'numeric' ? '42' : '= B';
      const reasoning = '<think>Is it (A), 41 or = A? The answer is A</think>';
      const gradeOf = (output: string) =>
        gradeAnswer(scorer, question, aRecordedAnswer({ output }), grader);

      expect(await gradeOf(`${reasoning}${answer}`)).toEqual(await gradeOf(answer));
    },
  );

  it.each([
    ['choice', 'The first option says that red'],
    ['numeric', 'Adding them up, we'],
    ['regex', 'Adding them up, we'],
  ])('%s reports a text that the limit ended before an answer as cut off', async (kind, output) => {
    const scorer = everyScorer.find((each) => each.kind === kind);
    const recorded = aRecordedAnswer({ output, finishReason: 'length' });

    const grade = await gradeAnswer(
      scorer ?? { kind },
      aQuestion({ choices: colors }),
      recorded,
      grader,
    );

    expect(grade).toEqual({ outcome: 'unparsed', score: 0, answer: null, reason: 'cut-off' });
  });

  it('scores a correct answer even if the output was cut off after it', async () => {
    const grade = await gradeAnswer(
      { kind: 'bbh' },
      aQuestion(),
      aRecordedAnswer({ output: 'the answer is 42', finishReason: 'length' }),
      grader,
    );

    expect(grade).toEqual({ outcome: 'scored', score: 1, answer: '42', reason: null });
  });

  it.each<[string, ScorerSpec, string]>([
    ['a choice', { kind: 'choice' }, 'no-choice'],
    ['a number', { kind: 'numeric', tolerance: 0 }, 'no-number'],
    ['a match', { kind: 'regex', pattern: 'x = (\\d+)' }, 'no-match'],
  ])('reports a text without %s as unparsed', async (_, scorer, reason) => {
    const question = aQuestion({ choices: colors });

    const grade = await gradeAnswer(
      scorer,
      question,
      aRecordedAnswer({ output: 'I cannot say.' }),
      grader,
    );

    expect(grade).toEqual({ outcome: 'unparsed', score: 0, answer: null, reason });
  });

  it('covers every kind of scorer in these tests', () => {
    const kinds = [...scorerRegistry.values()].filter(({ reads }) => reads === 'text');
    expect(everyScorer.map(({ kind }) => kind).sort()).toEqual(
      kinds.map(({ kind }) => kind).sort(),
    );
  });
});

describe('gradeAnswer with a pattern of the user', () => {
  const pattern: ScorerSpec = { kind: 'regex', pattern: '(a+)+$' };

  it.each([
    ['takes too long', { kind: 'timeout' }, 'scorer-timeout'],
    ['cannot be run', { kind: 'error' }, 'scorer-failed'],
  ] as const)('leaves the answer ungraded if the pattern %s', async (_, match, reason) => {
    const userCode = { ...inProcessPatterns, match: async () => match };

    const grade = await gradeAnswer(pattern, aQuestion(), aRecordedAnswer(), { userCode });

    expect(grade).toEqual({ outcome: 'ungraded', score: null, answer: null, reason });
  });

  it.each([
    [undefined, limits.patternMs],
    [5, 5],
  ])('gives a pattern its time limit, here %s', async (patternLimitMs, expectedMs) => {
    const matched: unknown[] = [];
    const match: UserCode['match'] = async (...args) => {
      matched.push(args);
      return { kind: 'none' };
    };

    await gradeAnswer(pattern, aQuestion(), aRecordedAnswer({ output: 'aaa' }), {
      userCode: { ...inProcessPatterns, match },
      patternLimitMs,
    });

    expect(matched).toEqual([
      [{ source: '(a+)+$', flags: 'u', match: 'first' }, 'aaa', expectedMs],
    ]);
  });
});

describe('gradeAnswer for a long, hostile text', () => {
  const kinds = everyScorer.filter(({ kind }) => kind !== 'regex');
  // A scorer that takes quadratic time on one of these takes minutes, which the time limit of a test ends.
  const pumps = [
    ' ',
    '(',
    ')',
    '.',
    '*',
    '1',
    '1,',
    '1,111,',
    '.1',
    '1e',
    'answer',
    'answer ',
    'answer is ',
  ];

  it.each(kinds.map((scorer) => [scorer.kind, scorer] as const))(
    '%s ends in time',
    async (_, scorer) => {
      for (const pump of pumps) {
        const pumped = pump.repeat(1_000_000 / pump.length);
        for (const output of [pumped, `answer${pumped}!`, `1${pumped}!`]) {
          const question = aQuestion({ target: ['B'], choices: colors });

          const grade = await gradeAnswer(scorer, question, aRecordedAnswer({ output }), grader);

          expect(grade.outcome).not.toBe('ungraded');
        }
      }
    },
    60_000,
  );
});

describe('gradeAnswer for an output without an answer', () => {
  it.each<[string, Partial<RecordedAnswer>, FinishReason | null, string, string | null]>([
    ['cut off', { output: null }, 'length', 'cut-off', null],
    ['empty and cut off', { output: '' }, 'length', 'cut-off', null],
    ['cut off while reasoning', { output: null, hasReasoning: true }, 'length', 'cut-off', null],
    ['with reasoning only', { output: null, hasReasoning: true }, 'stop', 'reasoning-only', null],
    ['empty, with another finish reason', { output: '' }, 'other', 'no-text', null],
    ['empty, without a finish reason', { output: '' }, null, 'no-text', null],
    ['missing', { output: null }, 'stop', 'no-text', null],
    ['reasoning in the text only', { output: '<think>42</think>' }, 'stop', 'reasoning-only', null],
    ['reasoning that the limit ended', { output: '<think>42, or' }, 'length', 'cut-off', null],
    ['refused', { output: null, refusal: 'I will not.' }, 'stop', 'refused', 'I will not.'],
    [
      'refused, with a text beside the refusal',
      { refusal: 'I will not.' },
      'stop',
      'refused',
      'I will not.',
    ],
  ])(
    'is unparsed and scores 0 when the output is %s',
    async (_, recorded, finishReason, reason, answer) => {
      const grade = await gradeAnswer(
        { kind: 'exact' },
        aQuestion(),
        aRecordedAnswer({ ...recorded, finishReason }),
        grader,
      );

      expect(grade).toEqual({ outcome: 'unparsed', score: 0, answer, reason });
    },
  );

  it('scores an empty text if the model stopped of its own accord', async () => {
    const empty = aRecordedAnswer({ output: '' });

    const wrong = await gradeAnswer({ kind: 'bbh' }, aQuestion(), empty, grader);
    const right = await gradeAnswer({ kind: 'exact' }, aQuestion({ target: [''] }), empty, grader);

    expect(wrong).toEqual({ outcome: 'scored', score: 0, answer: '', reason: null });
    expect(right).toEqual({ outcome: 'scored', score: 1, answer: '', reason: null });
  });
});

describe('gradeAnswer for a question without a target', () => {
  it.each<[string, Partial<RecordedAnswer>, string | null]>([
    ['an answer', { output: '42' }, '42'],
    ['no text', { output: null }, null],
    ['a refusal', { output: null, refusal: 'I will not.' }, null],
  ])('is ungraded when the output is %s', async (_, recorded, answer) => {
    const question = aQuestion({ target: null });

    const grade = await gradeAnswer({ kind: 'exact' }, question, aRecordedAnswer(recorded), grader);

    expect(grade).toEqual({ outcome: 'ungraded', score: null, answer, reason: 'no-target' });
  });
});

describe('every grade', () => {
  it('has score 0 or 1, 0 if unparsed, null if ungraded', async () => {
    const texts = fc.option(fc.oneof(fc.string(), fc.constantFrom('Answer: B', '42', '= x')));

    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...everyScorer),
        fc.record({
          output: texts,
          hasReasoning: fc.boolean(),
          refusal: fc.option(fc.string(), { freq: 9 }),
          finishReason: fc.constantFrom<FinishReason | null>('stop', 'length', 'other', null),
        }),
        fc.option(fc.array(fc.string(), { minLength: 1, maxLength: 3 })),
        fc.option(fc.array(fc.string(), { maxLength: 5 })),
        async (scorer, recorded, target, choices) => {
          const question = aQuestion({ target, choices });

          const grade = await gradeAnswer(scorer, question, recorded, grader);

          expect(grade.outcome === 'ungraded').toBe(target === null);
          expect(grade.score).toBeOneOf(
            { scored: [0, 1], unparsed: [0], ungraded: [null] }[grade.outcome],
          );
          expect(grade.reason === null).toBe(grade.outcome === 'scored');
        },
      ),
    );
  });

  it('is correct when the text is the target', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<ScorerSpec>({ kind: 'exact' }, { kind: 'includes' }),
        fc.string(),
        async (scorer, target) => {
          const question = aQuestion({ target: [target] });

          const grade = await gradeAnswer(
            scorer,
            question,
            aRecordedAnswer({ output: target }),
            grader,
          );

          expect(grade.score).toBe(1);
        },
      ),
    );
  });
});
