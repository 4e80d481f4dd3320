import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ScorerSpec } from '../../../packages/core/src/domain/scorer.ts';
import { gradeAnswer } from '../../../packages/core/src/scorers/grade-answer.ts';
import { readSparkitAnswer } from '../../../packages/core/src/scorers/sparkit/read-sparkit-answer.ts';
import { readSparkitChoice } from '../../../packages/core/src/scorers/sparkit/read-sparkit-choice.ts';
import { aQuestion, aRecordedAnswer } from '../../support/builders.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';
import { hasSharedData, sharedDataDir } from '../../support/shared-data.ts';

describe('the answer that SPARKIT takes from a text', () => {
  it.each([
    // Of a number, what Python's str makes of it.
    ['{"answer_text": 42}', '42', 0.5],
    ['{"answer_text": 1.0}', '1.0', 0.5],
    ['{"answer_text": -0.00001}', '-1e-05', 0.5],
    ['{"answer_text": 1e16}', '1e+16', 0.5],
    ['{"answer_text": 123456789012345678901}', '123456789012345678901', 0.5],
    ['{"answer_text": NaN}', 'nan', 0.5],
    ['{"answer_text": null, "answer_confidence": 0.2}', 'None', 0.2],
    ['{"answer_text": true}', 'True', 0.5],
    [`{"answer_text": ["a", 1.50, {"b": "it's"}]}`, `['a', 1.5, {'b': "it's"}]`, 0.5],
    ['{"answer_text": " x ", "answer_confidence": " +.25 "}', 'x', 0.25],
    ['{"answer_text": "x", "answer_confidence": "1_0e-1_1"}', 'x', 1e-10],
    ['{"answer_text": "x", "answer_confidence": -3}', 'x', 0],
    ['{"answer_text": "x", "answer_confidence": -Infinity}', 'x', 0],
    ['{"answer_text": "x", "answer_confidence": "nan"}', 'x', 1],
    ['{"answer_text": "x", "answer_confidence": true}', 'x', 1],
    // What Python cannot read is the answer as a whole.
    ['{"answer_text": "x", "answer_confidence": null}', undefined, 0.5],
    ['{"answer_text": "x", "answer_confidence": "85 %"}', undefined, 0.5],
    ['{"answer_text": "x", "answer_confidence": [1]}', undefined, 0.5],
    ['{"answer_text": 01}', undefined, 0.5],
    ['} x {', undefined, 0.5],
    [' say {"answer_text": "x", "answer_confidence": 0.4} or so', 'x', 0.4],
    ['{"answer_text": "NaN \\" Infinity"}', 'NaN " Infinity', 0.5],
    ['{"__proto__": {"answer_text": "x"}}', undefined, 0.5],
  ])('of %j is %j with the confidence %d', (text, answer, confidence) => {
    expect(readSparkitAnswer(text)).toEqual({ text: answer ?? text.trim(), confidence });
  });

  it('takes time in proportion to a text that ends within a string', () => {
    const text = `{${'"\\'.repeat(200_000)}}`;

    expect(readSparkitAnswer(text).confidence).toBe(0.5);
  });
});

describe('what SPARKIT reads wrongly', () => {
  const gradeChoice = async (output: string, parser?: 'sparkit') => {
    const scorer = { kind: 'choice', ...(parser && { parser }) };
    const { outcome, answer } = await gradeAnswer(
      scorer,
      aQuestion({ target: ['B'] }),
      aRecordedAnswer({ output }),
      { userCode: inProcessPatterns },
    );
    return [outcome, answer];
  };

  it.each([
    ['misses a choice in parentheses', '(B)', ['scored', 'B'], ['unparsed', null]],
    ['misses a stated choice', 'The answer is B', ['scored', 'B'], ['unparsed', null]],
    ['misses the choice of JSON', '{"answer":"B"}', ['scored', 'B'], ['unparsed', null]],
    [
      'takes the article of a sentence for a choice',
      'A long answer starts with A',
      ['unparsed', null],
      ['scored', 'A'],
    ],
    [
      'takes the first of two choices',
      '<answer>C</answer> or <answer>B</answer>',
      ['unparsed', null],
      ['scored', 'C'],
    ],
  ])('%s, which the default does not', async (_, text, byDefault, asSparkit) => {
    expect(await gradeChoice(text)).toEqual(byDefault);
    expect(await gradeChoice(text, 'sparkit')).toEqual(asSparkit);
  });

  it('compares with the beginning of the target, so that "Both" is B', async () => {
    const question = aQuestion({ target: [' both of them'] });

    const { score } = await gradeAnswer(
      { kind: 'choice', parser: 'sparkit' },
      question,
      aRecordedAnswer({ output: '<answer>b</answer>' }),
      { userCode: inProcessPatterns },
    );

    expect(score).toBe(1);
  });

  it('takes JSON that ends too early for an answer, which the default does not', async () => {
    const question = aQuestion({ target: null, metadata: { required_keywords: ['trunc'] } });
    const recorded = aRecordedAnswer({ output: '{"answer_text":"trunc', finishReason: 'length' });
    const gradeKeywords = (scorer: ScorerSpec) =>
      gradeAnswer(scorer, question, recorded, { userCode: inProcessPatterns });

    expect(await gradeKeywords({ kind: 'keyword' })).toMatchObject({
      outcome: 'unparsed',
      reason: 'cut-off',
    });
    expect(await gradeKeywords({ kind: 'keyword', parser: 'sparkit' })).toMatchObject({
      outcome: 'scored',
      score: 0.75,
    });
  });
});

// The vectors are not part of the repository.
describe.runIf(hasSharedData)('the recorded vectors of SPARKIT', () => {
  const answers = readVectors<{ text: string; answer_text: string; answer_confidence: number }>(
    'direct_parse_vectors.json',
  );
  const choices = readVectors<{ text: string; choice: string | null }>(
    'mcq_extract_vectors_dce7d9e.json',
  );

  it('are as many as were observed', () => {
    expect([answers.length, choices.length]).toEqual([8, 11]);
  });

  it.each(answers)('the answer of $text', ({ text, answer_text, answer_confidence }) => {
    expect(readSparkitAnswer(text)).toEqual({ text: answer_text, confidence: answer_confidence });
  });

  it.each(choices)('the choice of $text', ({ text, choice }) => {
    expect(readSparkitChoice(text) ?? null).toBe(choice);
  });
});

function readVectors<Vector>(name: string): readonly Vector[] {
  if (!hasSharedData) return [];
  return JSON.parse(readFileSync(join(sharedDataDir, 'sparkit', name), 'utf8'));
}
