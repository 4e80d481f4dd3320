import { extractChoice } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

const four = ['red', 'green', 'blue', 'the sky'];

describe('the letter a text settles on', () => {
  it.each([
    ['a declaration', 'Answer: B', 'B'],
    ['a declaration in words', 'So the answer is (c).', 'C'],
    ['a named option', 'I would take option D here.', 'D'],
    ['an emphasised letter', 'Answer: **(B)**', 'B'],
    ['an emphasised label with its colon', '**Answer:** B', 'B'],
    ['an emphasised label before its colon', '**Answer**: B', 'B'],
    ['emphasis in words', 'The **answer** is **D**.', 'D'],
    ['a letter on the next line', 'Final answer:\n\nB', 'B'],
    ['the last of several declarations', 'The answer is A. Wait: the answer is B.', 'B'],
    ['a declaration before later words', 'Answer: B\nAll other options are wrong.', 'B'],
    ['a declaration before the plural', 'Answer: C. Both answers were close.', 'C'],
    ['a declaration before a letter of no choice', 'Answer: B, the option I like.', 'B'],
    ['a declaration, not a later bracket', 'Answer: B\n(A) was wrong.', 'B'],
    ['a letter alone', 'c', 'C'],
    ['a letter alone on a late line', 'It is long.\n(B).\nThat is all.', 'B'],
    ['the last bracketed letter', 'Not (A), rather (B) I think', 'B'],
    ["a choice's text", 'The Sky.', 'D'],
    ["a choice's text after a label", 'Answer: "green"', 'B'],
  ])('is read from %s', (_, text, letter) => {
    expect(extractChoice(text, four)).toBe(letter);
  });

  it.each([
    ['a word that begins with a letter', 'The answer is Delightful'],
    ['a letter of no choice', 'Answer: E'],
    ['a letter too far from the end', 'B\n1\n2\n3\n4\n5'],
    ['nothing', ''],
    ['other words', 'I cannot say.'],
  ])('is not read from %s', (_, text) => {
    expect(extractChoice(text, four)).toBeUndefined();
  });

  it('may be any letter where the question lists no choices', () => {
    expect(extractChoice('Answer: Z', [])).toBe('Z');
    expect(extractChoice('Answer: Z. No other answers, options or choices fit.', [])).toBe('Z');
  });

  it('is any declared letter of a choice', () => {
    const forms = fc.constantFrom(
      (letter: string) => `Answer: ${letter}`,
      (letter: string) => `answer: (${letter})`,
      (letter: string) => `the answer is ${letter}.`,
      (letter: string) => `**Answer:** ${letter}`,
      (letter: string) => `The correct option is **${letter}**`,
      (letter: string) => `Answer = ${letter.toLowerCase()}`,
    );
    // What is said before must not end in the middle of a declaration of its own.
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

  it('is one of the choices or nothing, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('answer ', 'is ', 'A', 'B', 'E', '(', ')', '\n', '*') }),
        (text) => {
          expect([...'ABCD', undefined]).toContain(extractChoice(text, four));
        },
      ),
    );
  });

  it.each(['.', '*', ' ', '"', '(A', 'answer '])('is found in long runs of %j', (unit) => {
    const text = `${unit.repeat(50_000)}\nAnswer: B`;

    // A pattern that took the square of the length would run into the test's time limit.
    expect(extractChoice(text, four)).toBe('B');
    expect(extractChoice(`${unit.repeat(200_000)}é`, ['x'])).toBeOneOf([undefined, 'A']);
  });
});
