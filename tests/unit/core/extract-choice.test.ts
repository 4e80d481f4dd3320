import { extractChoice } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const four = ['red', 'green', 'blue', 'the sky'];

describe('extractChoice', () => {
  it.each([
    ['a declaration', 'Answer: B', 'B'],
    ['a declaration in words', 'So the answer is (c).', 'C'],
    ['a named option', 'I would take option D here.', 'D'],
    ['an emphasized letter', 'Answer: **(B)**', 'B'],
    ['an emphasized label with its colon', '**Answer:** B', 'B'],
    ['an emphasized label before its colon', '**Answer**: B', 'B'],
    ['emphasis in words', 'The **answer** is **D**.', 'D'],
    ['a letter on the next line', 'Final answer:\n\nB', 'B'],
    ['the last of several declarations', 'The answer is A. Wait: the answer is B.', 'B'],
    ['a declaration before later words', 'Answer: B\nAll other options are wrong.', 'B'],
    ['a declaration before a plural', 'Answer: C. Both answers were close.', 'C'],
    ['a declaration before a letter beyond the choices', 'Answer: B, the option I like.', 'B'],
    ['a declaration rather than a later letter in parentheses', 'Answer: B\n(A) was wrong.', 'B'],
    ['a single letter', 'c', 'C'],
    ['a single letter on one of the last lines', 'It is long.\n(B).\nThat is all.', 'B'],
    ['the last letter in parentheses', 'Not (A), rather (B) I think', 'B'],
    ["a choice's text", 'The Sky.', 'D'],
    ["a choice's text after a label", 'Answer: "green"', 'B'],
  ])('reads the letter from %s', (_, text, letter) => {
    expect(extractChoice(text, four)).toBe(letter);
  });

  it.each([
    ['a word that starts with a letter', 'The answer is Delightful'],
    ['a letter beyond the choices', 'Answer: E'],
    ['a letter too far from the end', 'B\n1\n2\n3\n4\n5'],
    ['an empty text', ''],
    ['other words', 'I cannot say.'],
  ])('reads no letter from %s', (_, text) => {
    expect(extractChoice(text, four)).toBeUndefined();
  });

  it('accepts any letter if the question lists no choices', () => {
    expect(extractChoice('Answer: Z', [])).toBe('Z');
    expect(extractChoice('Answer: Z. No other answers, options or choices fit.', [])).toBe('Z');
  });

  it('reads every declared letter of a choice', () => {
    const forms = fc.constantFrom(
      (letter: string) => `Answer: ${letter}`,
      (letter: string) => `answer: (${letter})`,
      (letter: string) => `the answer is ${letter}.`,
      (letter: string) => `**Answer:** ${letter}`,
      (letter: string) => `The correct option is **${letter}**`,
      (letter: string) => `Answer = ${letter.toLowerCase()}`,
    );
    // The text before it must not end in the middle of another declaration.
    const before = fc.string().map((text) => `${text}\nSo. `);

    fc.assert(
      fc.property(
        fc
          .integer({ min: 1, max: 26 })
          .chain((count) =>
            fc.record({ count: fc.constant(count), index: fc.nat({ max: count - 1 }) }),
          ),
        forms,
        before,
        ({ count, index }, form, text) => {
          const choices = Array.from({ length: count }, (_, at) => `choice number ${at}`);
          const letter = String.fromCharCode(65 + index);

          expect(extractChoice(`${text}${form(letter)}`, choices)).toBe(letter);
        },
      ),
    );
  });

  it('returns one of the choices or undefined for any text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('answer ', 'is ', 'A', 'B', 'E', '(', ')', '\n', '*') }),
        (text) => {
          expect([...'ABCD', undefined]).toContain(extractChoice(text, four));
        },
      ),
    );
  });

  it.each(['.', '*', ' ', '"', '(A', 'answer '])('is fast for long runs of %j', (unit) => {
    const text = `${unit.repeat(50_000)}\nAnswer: B`;

    // A pattern with quadratic time would exceed the test's time limit.
    expect(extractChoice(text, four)).toBe('B');
    expect(extractChoice(`${unit.repeat(200_000)}é`, ['x'])).toBeOneOf([undefined, 'A']);
  });
});
