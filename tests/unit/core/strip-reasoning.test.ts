import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stripReasoning } from '../../../packages/core/src/scorers/strip-reasoning.ts';

const GPT_OSS = '<|channel|>analysis<|message|>User says "hi".<|end|><|start|>assistant';

describe('stripReasoning keeps what follows', () => {
  // Marks as the reasoning parsers of vLLM and others list them; see the module.
  it.each([
    ['a think block', '<think>\nA or B?\n</think>\n\nAnswer: B'],
    ['a block in capitals', '<Thought>A or B?</Thought>Answer: B'],
    ['a thinking block', '<thinking>A or B?</thinking> Answer: B'],
    ['a reasoning block', '<reasoning>A or B?</reasoning>\nAnswer: B'],
    ["Seed's block", '<seed:think>A or B?</seed:think>Answer: B'],
    ["MiniMax's block, closed by another tag", '<mm:think>A or B?</think>Answer: B'],
    ["Mistral's block", '[THINK]A or B?[/THINK]Answer: B'],
    ["Kimi's block", '◁think▷A or B?◁/think▷Answer: B'],
    [
      "Cohere's block",
      '<|START_THINKING|>A?<|END_THINKING|><|START_RESPONSE|>Answer: B<|END_RESPONSE|>',
    ],
    ["Apertus' block", '<|inner_prefix|>A or B?<|inner_suffix|>Answer: B'],
    ["Gemma's block", '<|channel>thought\nA or B?<channel|>Answer: B'],
    [
      "Apriel's mark",
      'Here are my reasoning steps:\nA?\n[BEGIN FINAL RESPONSE]\nAnswer: B[END FINAL RESPONSE]',
    ],
    ["Granite's words", "Here is my thought process: A or B? Here's my response: Answer: B"],
    ['a closing tag without an opening one', 'Okay, A or B?\n</think>\n\nAnswer: B'],
    ['several blocks', '<think>A?</think><think>B?</think>Answer: B'],
    ['a block in a block', '<think>A? <think>B?</think> C?</think>Answer: B'],
    ['the analysis of gpt-oss', `${GPT_OSS}<|channel|>final<|message|>Answer: B<|return|>`],
    [
      'an analysis whose start the prompt has',
      'User says "hi".<|end|><|start|>assistant<|channel|>final<|message|>Answer: B',
    ],
    ['an analysis without its special tokens', 'analysisUser says "hi".assistantfinalAnswer: B'],
  ])('%s', (_, text) => {
    expect(stripReasoning(text)).toBe('Answer: B');
  });
});

describe('stripReasoning returns an empty text for', () => {
  it.each([
    ['a block without an answer', '<think>A or B?</think>\n'],
    ['a block that never ends', '<think>\nThe answer is B, or'],
    ['a second block that never ends', '<think>A?</think><think>B?'],
    ['a closing tag with nothing after it', 'The answer may be B.</think>'],
    ['an analysis without a final channel', '<|channel|>analysis<|message|>The answer is B'],
    ['an analysis without its special tokens', 'analysisWe need to choose. The answer is B'],
  ])('%s', (_, text) => {
    expect(stripReasoning(text)).toBe('');
  });
});

describe('stripReasoning', () => {
  it.each([
    ' Answer: B\n',
    'Use `<think>` and `</think>` around it.',
    'analysis of the sample shows B',
    'Here is my thought process: B is green. Answer: B',
    '  ',
  ])('returns %j as it is', (text) => {
    expect(stripReasoning(text)).toBe(text);
  });

  it('keeps an answer before a block', () => {
    expect(stripReasoning('Answer: B\n<think>Is it? Yes.</think>')).toBe('Answer: B\n');
  });

  it('ends the reasoning between two spans of code', () => {
    expect(stripReasoning('<think>A?\n`A` or `B`</think>`B`')).toBe('`B`');
  });

  it('takes no tag that is spoken of for the end of the reasoning', () => {
    expect(stripReasoning('<think>A `B` before `</think>`?</think>B')).toBe('B');
  });

  it('keeps a tag that the answer speaks of after a thought with a single backtick', () => {
    expect(stripReasoning('<think>5` or 6`?`</think>Use `<think>`.')).toBe('Use `<think>`.');
  });

  it('keeps an answer before a second closing tag', () => {
    expect(stripReasoning('<think>A?</think>Answer: B</think>')).toBe('Answer: B');
  });

  it('removes any reasoning before any answer', () => {
    const tags = fc.constantFrom(
      ['<think>', '</think>'],
      ['[THINK]', '[/THINK]'],
      ['', '</think>'],
      ['<|channel|>analysis<|message|>', '<|end|><|start|>assistant<|channel|>final<|message|>'],
    );
    // After a backtick without its pair, a tag may be spoken of.
    const plain = fc
      .string()
      .filter((text) => !/[<[◁]|final/u.test(text) && text.split('`').length % 2 === 1);

    fc.assert(
      fc.property(tags, plain, plain, ([opening, closing], thought, answer) => {
        expect(stripReasoning(`${opening}${thought}${closing}${answer}`)).toBe(answer.trimStart());
      }),
    );
  });

  it.each([
    '<think>',
    '</think>',
    '<think></think>',
    '<|channel|>',
    '<|channel|>final',
    '[',
    '<',
    '\n',
    ' ',
  ])('takes linear time on a run of %s', (mark) => {
    // Quadratic time would exceed the test's time limit.
    expect(stripReasoning(mark.repeat(1_000_000 / mark.length))).toBeTypeOf('string');
  });
});
