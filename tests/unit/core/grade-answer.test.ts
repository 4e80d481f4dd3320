import { type FinishReason, gradeAnswer, type ModelOutput, scorerVersions } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ScorerSpec, scorerSchema } from '../../../packages/core/src/domain/benchmark-spec.ts';
import { anOutput, aQuestion } from '../../support/builders.ts';

const everyScorer: readonly ScorerSpec[] = [
  { kind: 'exact' },
  { kind: 'choice' },
  { kind: 'includes' },
  { kind: 'bbh' },
  { kind: 'numeric', tolerance: 0 },
  { kind: 'regex', pattern: '= (\\w+)' },
];
const colours = ['red', 'green', 'blue'];

describe('scoring an answer', () => {
  it.each<[string, ScorerSpec, string, string, number, string]>([
    ['exact takes the same text, trimmed', { kind: 'exact' }, ' 42\n', ' 42 ', 1, '42'],
    ['exact minds the case', { kind: 'exact' }, 'yes', 'Yes', 0, 'yes'],
    ['exact minds what else is said', { kind: 'exact' }, 'It is 42', '42', 0, 'It is 42'],
    [
      'includes looks inside, whatever the case',
      { kind: 'includes' },
      'In PARIS.',
      'paris',
      1,
      'In PARIS.',
    ],
    ['includes misses what is not there', { kind: 'includes' }, 'In Rome.', 'Paris', 0, 'In Rome.'],
    ['bbh reads after its mark', { kind: 'bbh' }, 'So the answer is (B).', '(B)', 1, '(B)'],
    ['bbh compares with the target as it is', { kind: 'bbh' }, 'True', 'True ', 0, 'True'],
    [
      'numeric compares numbers',
      { kind: 'numeric', tolerance: 0 },
      'It is 1,000.0',
      '1000',
      1,
      '1000.0',
    ],
    [
      'numeric accepts what is as near as allowed',
      { kind: 'numeric', tolerance: 0.5 },
      '41.5',
      '42',
      1,
      '41.5',
    ],
    [
      'numeric refuses what is further away',
      { kind: 'numeric', tolerance: 0.5 },
      '41.4',
      '42',
      0,
      '41.4',
    ],
    [
      'numeric knows no target without a number',
      { kind: 'numeric', tolerance: 9 },
      '3',
      'three',
      0,
      '3',
    ],
    [
      'regex takes its first group',
      { kind: 'regex', pattern: 'x = (\\d+)' },
      'x = 42!',
      '42',
      1,
      '42',
    ],
    [
      'regex without a group takes the match',
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
    ['a letter in brackets', '(B)', 'Answer: B'],
    ["a choice's text", 'green', 'Answer: B'],
    ['the text that was said', 'B', 'Answer: green'],
  ])('compares choices where the target is %s', (_, target, text) => {
    const question = aQuestion({ target: [target], choices: colours });

    const grade = gradeAnswer({ kind: 'choice' }, question, anOutput({ text }), 'stop');

    expect(grade).toEqual({ outcome: 'scored', score: 1, answer: 'B', reason: null });
  });

  it('accepts any of several targets', () => {
    const question = aQuestion({ target: ['forty-two', '42'] });

    const grade = gradeAnswer({ kind: 'exact' }, question, anOutput({ text: '42' }), 'stop');

    expect(grade.score).toBe(1);
  });

  it('knows a right answer that was cut off after it was given', () => {
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
  ])('calls a text without %s unparsed', (_, scorer, reason) => {
    const question = aQuestion({ choices: colours });

    const grade = gradeAnswer(scorer, question, anOutput({ text: 'I cannot say.' }), 'stop');

    expect(grade).toEqual({ outcome: 'unparsed', score: 0, answer: null, reason });
  });

  it('has a version for every kind of scorer', () => {
    const kinds = scorerSchema.options.map((option) => option.shape.kind.value);

    expect(Object.keys(scorerVersions).sort()).toEqual([...kinds].sort());
    expect(everyScorer.map(({ kind }) => kind).sort()).toEqual([...kinds].sort());
  });
});

describe('an answer without text', () => {
  it.each<[string, Partial<ModelOutput>, FinishReason | null, string, string | null]>([
    ['that was cut off', { text: null }, 'length', 'cut-off', null],
    ['that is empty and was cut off', { text: '' }, 'length', 'cut-off', ''],
    [
      'that reasoned until it was cut off',
      { text: null, reasoning: 'Hm' },
      'length',
      'cut-off',
      null,
    ],
    ['that only reasoned', { text: null, reasoning: 'Hm' }, 'stop', 'reasoning-only', null],
    ['that is empty and ended otherwise', { text: '' }, 'other', 'no-text', ''],
    ['that is empty and says not why it ended', { text: '' }, null, 'no-text', ''],
    ['that is missing', { text: null }, 'stop', 'no-text', null],
    ['that was refused', { text: null, refusal: 'I will not.' }, 'stop', 'refused', 'I will not.'],
    [
      'that was refused beside a text',
      { refusal: 'I will not.' },
      'stop',
      'refused',
      'I will not.',
    ],
  ])('%s is unparsed and scores 0', (_, output, finishReason, reason, answer) => {
    const grade = gradeAnswer({ kind: 'exact' }, aQuestion(), anOutput(output), finishReason);

    expect(grade).toEqual({ outcome: 'unparsed', score: 0, answer, reason });
  });

  it('is an answer where it is empty and the model stopped of itself', () => {
    const empty = anOutput({ text: '' });

    const wrong = gradeAnswer({ kind: 'bbh' }, aQuestion(), empty, 'stop');
    const right = gradeAnswer({ kind: 'exact' }, aQuestion({ target: [''] }), empty, 'stop');

    expect(wrong).toEqual({ outcome: 'scored', score: 0, answer: '', reason: null });
    expect(right).toEqual({ outcome: 'scored', score: 1, answer: '', reason: null });
  });
});

describe('a question without a target', () => {
  it.each<[string, Partial<ModelOutput>, string | null]>([
    ['an answer', { text: '42' }, '42'],
    ['no text', { text: null }, null],
    ['a refusal', { text: null, refusal: 'I will not.' }, null],
  ])('is ungraded when it gets %s', (_, output, answer) => {
    const question = aQuestion({ target: null });

    const grade = gradeAnswer({ kind: 'exact' }, question, anOutput(output), 'stop');

    expect(grade).toEqual({ outcome: 'ungraded', score: null, answer, reason: 'no-target' });
  });
});

describe('every score', () => {
  it('scores 0 or 1, 0 if unparsed, nothing if ungraded', () => {
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

  it('is right for its own target', () => {
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
