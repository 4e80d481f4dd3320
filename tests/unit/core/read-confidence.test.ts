import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRatio } from '../../../packages/core/src/scorers/confidence/read-ratio.ts';
import { readStatedAnswer } from '../../../packages/core/src/scorers/confidence/read-stated-answer.ts';

/** How a number may be written, and what it is then. */
const writings: readonly ((ratio: number) => string)[] = [
  (ratio) => String(ratio),
  (ratio) => ratio.toExponential(),
  (ratio) => `+${ratio}`,
  (ratio) => `**${ratio}**`,
  (ratio) => ` "${ratio}". `,
  (ratio) => `${ratio} (fairly sure)`,
  (ratio) => String(ratio).replace(/^0\./, '.'),
];

describe('a confidence', () => {
  it.each([
    ['0.85', 0.85],
    ['.85', 0.85],
    ['85 %', 0.85],
    ['85%', 0.85],
    ['85 percent', 0.85],
    ['{0.85}', 0.85],
    ['1.', 1],
    ['0', 0],
    ['-0', 0],
    ['100%', 1],
    ['1e-3', 0.001],
    [0.85, 0.85],
    [1, 1],
  ])('of %j is %d where 0 to 1 was asked for', (stated, confidence) => {
    expect(readRatio(stated, 'ratio')).toEqual({ confidence });
  });

  it.each([
    ['85', 0.85],
    ['85%', 0.85],
    ['{85%}', 0.85],
    ['0.85', 0.0085],
    ['1', 0.01],
    ['100', 1],
  ])('of %j is %d where 0 to 100 was asked for', (stated, confidence) => {
    expect(readRatio(stated, 'percent')).toEqual({ confidence });
  });

  it.each([
    [undefined, 'no-confidence'],
    [null, 'no-confidence'],
    ['', 'no-confidence'],
    ['None', 'no-confidence'],
    ['n/a', 'no-confidence'],
    ['NaN', 'not-a-number'],
    [Number.NaN, 'not-a-number'],
    ['Infinity', 'out-of-range'],
    [Number.POSITIVE_INFINITY, 'out-of-range'],
    ['85', 'out-of-range'],
    [85, 'out-of-range'],
    ['-0.1', 'out-of-range'],
    ['101 %', 'out-of-range'],
    ['1.0000001', 'out-of-range'],
    ['high', 'unreadable'],
    ['80-90 %', 'unreadable'],
    ['0.8 or 0.9', 'unreadable'],
    ['0,85', 'unreadable'],
    ['0x1', 'unreadable'],
    ['1e', 'unreadable'],
    [true, 'unreadable'],
    [[0.85], 'unreadable'],
    ['0'.repeat(1000), 'unreadable'],
  ])('of %j is unknown: %s', (stated, confidenceReason) => {
    expect(readRatio(stated, 'ratio')).toEqual({ confidence: null, confidenceReason });
  });

  it('is any number in the scale that was asked for, however it is written', () => {
    const ratios = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 1));
    fc.assert(
      fc.property(ratios, fc.constantFrom(...writings), (drawn, write) => {
        // JSON has no -0.
        const ratio = drawn + 0;

        expect(readRatio(write(ratio), 'ratio')).toEqual({ confidence: ratio });
        expect(readRatio(write(ratio), 'percent')).toEqual({ confidence: ratio / 100 });
        expect(readRatio(`${ratio} %`, 'ratio')).toEqual({ confidence: ratio / 100 });
      }),
    );
  });

  it('is never a number outside the scale', () => {
    const outside = fc.oneof(
      // Without -0, which is 0.
      fc.double({ max: -Number.MIN_VALUE, noNaN: true }),
      fc.double({ min: 1, minExcluded: true, noNaN: true }),
    );
    fc.assert(
      fc.property(outside, fc.constantFrom(...writings), (number, write) => {
        expect(readRatio(write(number), 'ratio').confidence).toBeNull();
        expect(readRatio(`${number * 100} %`, 'ratio').confidence).toBeNull();
      }),
    );
  });

  it('is never read in a text that is no number', () => {
    const number = /\d\s*(?:%|percent)?[\s*_`"'”’})\].,;]*(?:\([^()]*\)\s*)?$/iu;
    const texts = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.lorem());
    fc.assert(
      fc.property(texts, (text) => {
        fc.pre(!number.test(text));

        expect(readRatio(text, 'ratio').confidence).toBeNull();
        expect(readRatio(`${text}x0.5y`, 'ratio').confidence).toBeNull();
      }),
    );
  });
});

describe('an answer that was asked for with its confidence', () => {
  it.each([
    ['{"answer": "B", "confidence": 0.85}', 'B', 0.85],
    ['{"confidence": 0.85, "answer": "B"}', 'B', 0.85],
    ['{"reasoning": "r", "answer": "B", "confidence": "85 %"}', 'B', 0.85],
    ['```json\n{"answer": "B", "confidence": 0.85}\n```', 'B', 0.85],
    ['So it is B.\n```json\n{"answer": "B", "confidence": 0.85}\n```', 'B', 0.85],
    [
      '<think>{"answer": "A", "confidence": 1}</think>{"answer": "B", "confidence": 0.85}',
      'B',
      0.85,
    ],
    ['{"answer": 42, "confidence": 0.85}', '42', 0.85],
    ['{"answer": "a \\"B\\"\\nc", "confidence": .85}', 'a "B"\nc', 0.85],
    ['{"answer": "two\nlines", "confidence": 0.85}', 'two\nlines', 0.85],
    ['{"answer": "", "confidence": 0.85}', '', 0.85],
    ['{"answer": "say \\"confidence\\": 0.2", "confidence": 85 %}', 'say "confidence": 0.2', 0.85],
    ['<answer>B</answer>\n<confidence>0.85</confidence>', 'B', 0.85],
    ['First.\n<ANSWER> B </ANSWER>\n<Confidence>85%</Confidence>', 'B', 0.85],
    ['<answer>A</answer> no: <answer>B</answer><confidence>.85</confidence>', 'B', 0.85],
    ['<answer>B\n<confidence>0.85', 'B', 0.85],
    ['<confidence>0.85</confidence><answer>B', 'B', 0.85],
    ['It is B. <confidence>0.85</confidence>', 'It is B.', 0.85],
    ['<answer>{"answer": 5}</answer><confidence>0.85</confidence>', '{"answer": 5}', 0.85],
    ['B\nConfidence: 0.85', 'B', 0.85],
    ['**Confidence score:** 85%\nB', 'B', 0.85],
  ])('of %j is %j with %d', (text, answer, confidence) => {
    expect(readStatedAnswer(text, 'asked')).toEqual({ answer, stated: { confidence } });
  });

  it.each([
    ['B', 'B', 'no-confidence'],
    ['', '', 'no-confidence'],
    ['{"answer": "B"}', 'B', 'no-confidence'],
    ['{"answer": "B", "confidence": null}', 'B', 'no-confidence'],
    ['{"answer": "B", "confidence": NaN}', 'B', 'not-a-number'],
    ['{"answer": "B", "confidence": 85}', 'B', 'out-of-range'],
    ['{"answer": "B", "confidence": "high"}', 'B', 'unreadable'],
    ['{"answer": "B", "confid', 'B', 'no-confidence'],
    ['{"answer": "B and', 'B and', 'no-confidence'],
    ['{"answer": "B\\', 'B', 'no-confidence'],
    ['{"answer": "B\\u00', 'B', 'no-confidence'],
    ['{"result": "B"}', '{"result": "B"}', 'no-confidence'],
    ['<answer>B</answer>', 'B', 'no-confidence'],
    ['<answer>B</answer><confidence></confidence>', 'B', 'no-confidence'],
    ['<answer>B</answer><confidence>very</confidence>', 'B', 'unreadable'],
    ['the 95% confidence interval: 3', 'the 95% confidence interval: 3', 'no-confidence'],
  ])('of %j is %j, without a confidence: %s', (text, answer, confidenceReason) => {
    expect(readStatedAnswer(text, 'asked')).toEqual({
      answer,
      stated: { confidence: null, confidenceReason },
    });
  });

  it('is what was written as JSON, whatever it is', () => {
    const values = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), values, (answer, drawn) => {
        const confidence = drawn + 0;
        const text = JSON.stringify({ answer, confidence });
        // Marks of reasoning within an answer are cut out of the text before it is read.
        fc.pre(!/think|thought|reason|channel|assistantfinal|pad>|analysis/iu.test(text));

        expect(readStatedAnswer(text, 'asked')).toEqual({ answer, stated: { confidence } });
      }),
    );
  });

  it.each([
    ['spaces', ' '.repeat(1_000_000)],
    ['line breaks', `{"answer":${'\n'.repeat(1_000_000)}`],
    ['escapes', `{"answer": "${'\\"'.repeat(500_000)}`],
    ['openings', '<answer>'.repeat(120_000)],
    ['objects', '{"answer": "'.repeat(80_000)],
    ['labels', 'confidence \n'.repeat(80_000)],
    ['a long label', `confidence${' '.repeat(1_000_000)}`],
    ['a long value', `<confidence>${' .'.repeat(500_000)}x</confidence>`],
  ])('is looked for in a million characters of %s', (_, text) => {
    expect(readStatedAnswer(text, 'asked').stated.confidence).toBeNull();
  });
});

describe("an answer to the prompt of Humanity's Last Exam", () => {
  it.each([
    ['Explanation: e\nAnswer: B\nConfidence: 85%', 0.85],
    ['Answer: B\n**Confidence:** 85', 0.85],
    ['Confidence: 10%\nno\nConfidence: {85%}', 0.85],
    ['Answer: B\nConfidence: 85% (fairly sure)', 0.85],
  ])('of %j is that text, with %d', (text, confidence) => {
    expect(readStatedAnswer(text, 'hle')).toEqual({ answer: text, stated: { confidence } });
  });

  it('has no confidence in tags or JSON, which it does not ask for', () => {
    const text = '{"answer": "B", "confidence": 0.85}';

    expect(readStatedAnswer(text, 'hle')).toEqual({
      answer: text,
      stated: { confidence: null, confidenceReason: 'no-confidence' },
    });
  });
});

it("SPARKIT's way of reading leaves no confidence unknown", () => {
  expect(readStatedAnswer('plain', 'sparkit')).toEqual({
    answer: 'plain',
    stated: { confidence: 0.5 },
  });
});
