import {
  type FinishReason,
  gradeAnswer,
  type ModelOutput,
  type ScorerSpec,
  scorerVersions,
} from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anOutput, aQuestion } from '../../support/builders.ts';

const everyScorer: readonly ScorerSpec[] = [
  { kind: 'exact' },
  { kind: 'choice' },
  { kind: 'includes' },
  { kind: 'bbh' },
  { kind: 'numeric', tolerance: 0 },
  { kind: 'regex', pattern: '= (\\w+)' },
];
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
      '1000.0',
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
  ])('%s', (_, scorer, text, target, score, answer) => {
    const question = aQuestion({ target: [target] });

    const grade = gradeAnswer(scorer, question, anOutput({ text }), 'stop');

    expect(grade).toEqual({ outcome: 'scored', score, answer, reason: null });
  });

  it.each([
    ['a letter', 'B', 'Answer: B'],
    ['a letter in parentheses', '(B)', 'Answer: B'],
    ["a choice's text", 'green', 'Answer: B'],
    ['a letter and the answer a text', 'B', 'Answer: green'],
  ])('compares choices if the target is %s', (_, target, text) => {
    const question = aQuestion({ target: [target], choices: colors });

    const grade = gradeAnswer({ kind: 'choice' }, question, anOutput({ text }), 'stop');

    expect(grade).toEqual({ outcome: 'scored', score: 1, answer: 'B', reason: null });
  });

  it('accepts any of several targets', () => {
    const question = aQuestion({ target: ['forty-two', '42'] });

    const grade = gradeAnswer({ kind: 'exact' }, question, anOutput({ text: '42' }), 'stop');

    expect(grade.score).toBe(1);
  });

  it('scores a correct answer even if the output was cut off after it', () => {
    const grade = gradeAnswer(
      { kind: 'bbh' },
      aQuestion(),
      anOutput({ text: 'the answer is 42' }),
      'length',
    );

    expect(grade).toEqual({ outcome: 'scored', score: 1, answer: '42', reason: null });
  });

  it.each<[string, ScorerSpec, string]>([
    ['a choice', { kind: 'choice' }, 'no-choice'],
    ['a number', { kind: 'numeric', tolerance: 0 }, 'no-number'],
    ['a match', { kind: 'regex', pattern: 'x = (\\d+)' }, 'no-match'],
  ])('reports a text without %s as unparsed', (_, scorer, reason) => {
    const question = aQuestion({ choices: colors });

    const grade = gradeAnswer(scorer, question, anOutput({ text: 'I cannot say.' }), 'stop');

    expect(grade).toEqual({ outcome: 'unparsed', score: 0, answer: null, reason });
  });

  it('covers every kind of scorer in these tests', () => {
    expect(everyScorer.map(({ kind }) => kind).sort()).toEqual(Object.keys(scorerVersions).sort());
  });
});

describe('gradeAnswer for an output without an answer', () => {
  it.each<[string, Partial<ModelOutput>, FinishReason | null, string, string | null]>([
    ['cut off', { text: null }, 'length', 'cut-off', null],
    ['empty and cut off', { text: '' }, 'length', 'cut-off', ''],
    ['cut off while reasoning', { text: null, reasoning: 'Hm' }, 'length', 'cut-off', null],
    ['with reasoning only', { text: null, reasoning: 'Hm' }, 'stop', 'reasoning-only', null],
    ['empty, with another finish reason', { text: '' }, 'other', 'no-text', ''],
    ['empty, without a finish reason', { text: '' }, null, 'no-text', ''],
    ['missing', { text: null }, 'stop', 'no-text', null],
    ['refused', { text: null, refusal: 'I will not.' }, 'stop', 'refused', 'I will not.'],
    [
      'refused, with a text beside the refusal',
      { refusal: 'I will not.' },
      'stop',
      'refused',
      'I will not.',
    ],
  ])(
    'is unparsed and scores 0 when the output is %s',
    (_, output, finishReason, reason, answer) => {
      const grade = gradeAnswer({ kind: 'exact' }, aQuestion(), anOutput(output), finishReason);

      expect(grade).toEqual({ outcome: 'unparsed', score: 0, answer, reason });
    },
  );

  it('scores an empty text if the model stopped of its own accord', () => {
    const empty = anOutput({ text: '' });

    const wrong = gradeAnswer({ kind: 'bbh' }, aQuestion(), empty, 'stop');
    const right = gradeAnswer({ kind: 'exact' }, aQuestion({ target: [''] }), empty, 'stop');

    expect(wrong).toEqual({ outcome: 'scored', score: 0, answer: '', reason: null });
    expect(right).toEqual({ outcome: 'scored', score: 1, answer: '', reason: null });
  });
});

describe('gradeAnswer for a question without a target', () => {
  it.each<[string, Partial<ModelOutput>, string | null]>([
    ['an answer', { text: '42' }, '42'],
    ['no text', { text: null }, null],
    ['a refusal', { text: null, refusal: 'I will not.' }, null],
  ])('is ungraded when the output is %s', (_, output, answer) => {
    const question = aQuestion({ target: null });

    const grade = gradeAnswer({ kind: 'exact' }, question, anOutput(output), 'stop');

    expect(grade).toEqual({ outcome: 'ungraded', score: null, answer, reason: 'no-target' });
  });
});

describe('every grade', () => {
  it('has score 0 or 1, 0 if unparsed, null if ungraded', () => {
    const texts = fc.option(fc.oneof(fc.string(), fc.constantFrom('Answer: B', '42', '= x')));

    fc.assert(
      fc.property(
        fc.constantFrom(...everyScorer),
        fc.record({
          text: texts,
          reasoning: fc.option(fc.string()),
          refusal: fc.option(fc.string(), { freq: 9 }),
          images: fc.constant<ModelOutput['images']>([]),
          toolCalls: fc.constant<ModelOutput['toolCalls']>([]),
        }),
        fc.constantFrom<FinishReason | null>('stop', 'length', 'other', null),
        fc.option(fc.array(fc.string(), { minLength: 1, maxLength: 3 })),
        fc.option(fc.array(fc.string(), { maxLength: 5 })),
        (scorer, output, finishReason, target, choices) => {
          const question = aQuestion({ target, choices });

          const grade = gradeAnswer(scorer, question, output, finishReason);

          expect(grade.outcome === 'ungraded').toBe(target === null);
          expect(grade.score).toBeOneOf(
            { scored: [0, 1], unparsed: [0], ungraded: [null] }[grade.outcome],
          );
          expect(grade.reason === null).toBe(grade.outcome === 'scored');
        },
      ),
    );
  });

  it('is correct when the text is the target', () => {
    fc.assert(
      fc.property(
        fc.constantFrom<ScorerSpec>({ kind: 'exact' }, { kind: 'includes' }),
        fc.string(),
        (scorer, target) => {
          const question = aQuestion({ target: [target] });

          const grade = gradeAnswer(scorer, question, anOutput({ text: target }), 'stop');

          expect(grade.score).toBe(1);
        },
      ),
    );
  });
});
