import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readChoice } from '../../../packages/core/src/scorers/choice/read-choice.ts';
import { stripReasoning } from '../../../packages/core/src/scorers/strip-reasoning.ts';

const four = ['red', 'green', 'blue', 'the sky'];
/** A number of choices and the letter of one of them. */
const someLetter = fc.integer({ min: 1, max: 26 }).chain((count) =>
  fc.nat({ max: count - 1 }).map((index) => ({
    choices: Array.from({ length: count }, (_, at) => `choice number ${at}`),
    letter: String.fromCharCode(65 + index),
  })),
);
const statement = fc.constantFrom(
  (letter: string) => `Answer: ${letter}`,
  (letter: string) => `answer: (${letter})`,
  (letter: string) => `the answer is ${letter}.`,
  (letter: string) => `**Answer:** ${letter}`,
  (letter: string) => `The correct option is **${letter}**`,
  (letter: string) => `Answer = ${letter.toLowerCase()}`,
  (letter: string) => `Die richtige Antwort ist ${letter}.`,
  (letter: string) => `La réponse est (${letter}).`,
  (letter: string) => `La respuesta correcta es la ${letter}`,
  (letter: string) => `La risposta è ${letter}.`,
  (letter: string) => `A resposta correta é a letra ${letter}.`,
  (letter: string) => `Правильный ответ: ${letter}`,
  (letter: string) => `正确答案是${letter}。`,
  (letter: string) => `答えは${letter}です。`,
  (letter: string) => `정답은 ${letter}입니다.`,
  (letter: string) => `الإجابة الصحيحة هي ${letter}`,
  (letter: string) => String.raw`\boxed{\text{${letter}}}`,
  (letter: string) => `<answer>${letter}</answer>`,
);
/** What models write after a statement: it names other letters and has the words of corrections, but settles nothing. */
const explanation = fc.constantFrom(
  'The wait times decrease. A is correct only for other queues.',
  'Sorry for the brevity: option B actually ignores friction.',
  'A closer look shows why. The enzyme actually cleaves elsewhere, and C is right if the sample is pure.',
  'Many would choose B instead of checking the sign.\n\nI hope this helps!',
  'Option A matches the first law, option B the second.',
  'No, option C is not relevant here.',
);
/** Pieces of which hostile and half-formed answers consist. */
const pieces = fc.string({
  unit: fc.constantFrom(
    ...[
      'answer ',
      'is ',
      'not ',
      'A',
      'B',
      'E',
      'a ',
      'I ',
      '(',
      ')',
      '\n',
      '*',
      '. ',
      ', ',
      ': ',
      'or ',
    ],
    ...[
      '{"answer": "',
      '"}',
      '\\boxed{',
      '}',
      'wait ',
      'green',
      'correct',
      '答案',
      '<think>',
      'option ',
    ],
  ),
});

describe('readChoice', () => {
  it.each([
    [
      'a letter of a choice beyond which only an opinion follows',
      'Answer: B, the option I like.',
      'B',
    ],
    ['a text of a choice in any case', 'The Sky.', 'D'],
    ['a text of a choice after a label, in quotes', 'Answer: "green"', 'B'],
    ['the letter of a circled numeral', '정답: ③', 'C'],
    ['the last of several statements', 'The answer is A. The answer is B.', 'B'],
    ['what a correction leads to', 'The answer is B. Actually, C.', 'C'],
    ['what a correction that settles on none leaves', 'The answer is B. Actually, A or C.', 'B'],
  ])('reads %s', (_, text, letter) => {
    expect(readChoice({ text, isCutOff: false }, four)).toBe(letter);
  });

  it('accepts any letter if the question lists no choices', () => {
    const text = 'Answer: Z. No other answers, options or choices fit.';

    expect(readChoice({ text, isCutOff: false }, [])).toBe('Z');
  });

  it('reads the letter of a statement after any text', () => {
    fc.assert(
      fc.property(someLetter, statement, fc.string(), ({ choices, letter }, form, before) => {
        const text = `${before}\nSo.\n\n${form(letter)}`;

        expect(readChoice({ text, isCutOff: false }, choices)).toBe(letter);
      }),
    );
  });

  it('reads the letter of a statement amid a longer text', () => {
    fc.assert(
      fc.property(
        someLetter,
        statement,
        explanation,
        explanation,
        ({ choices, letter }, form, before, after) => {
          const text = `${before}\n\n${form(letter)}\n\n${after}`;

          expect(readChoice({ text, isCutOff: false }, choices)).toBe(letter);
        },
      ),
    );
  });

  it('reads a statement of a text that the token limit ended after it', () => {
    fc.assert(
      fc.property(someLetter, statement, ({ choices, letter }, form) => {
        const text = `${form(letter)}\n\nThis follows from the`;

        expect(readChoice({ text, isCutOff: true }, choices)).toBe(letter);
      }),
    );
  });

  it('reads the same after any reasoning', () => {
    fc.assert(
      fc.property(pieces, pieces, (thought, answer) => {
        const reasoning = `<think>${thought.replaceAll('<think>', '')}</think>`;
        const spoken = stripReasoning(answer);

        const alone = readChoice({ text: spoken, isCutOff: false }, four);
        const after = readChoice(
          { text: stripReasoning(`${reasoning}${answer}`), isCutOff: false },
          four,
        );

        expect(after).toBe(alone);
      }),
    );
  });

  it('returns one of the choices or undefined for any text', () => {
    fc.assert(
      fc.property(fc.oneof(pieces, fc.string()), fc.boolean(), (text, isCutOff) => {
        expect([...'ABCD', undefined]).toContain(readChoice({ text, isCutOff }, four));
      }),
    );
  });

  it.each([
    ...[
      '.',
      '*',
      ' ',
      '\n',
      '"',
      '(A',
      'é',
      'A, ',
      'B is ',
      'A) x\n',
      'Option A ',
      'I just ',
      'so ',
    ],
    ...[
      'answer ',
      'answer: ',
      'answer is A or ',
      'wait, ',
      'I choose ',
      'therefore ',
      '答案',
      '选A',
    ],
    ...[
      'wait',
      'no, ',
      'corresponds to option A ',
      '####',
      '【',
      'is option a',
      '③',
      ' (A) ',
      '<|im_end|>',
    ],
    ...['\\boxed{', '\\text{', '{"answer": "x"', '<answer>', '\nQuestion: ', 'green '],
  ])('takes linear time on a run of %j', (unit) => {
    const text = unit.repeat(1_000_000 / unit.length);

    // Quadratic time would exceed the time limit of the test.
    expect(readChoice({ text: `${text}\n\nAnswer: B`, isCutOff: false }, four)).toBe('B');
    expect([...'ABCD', undefined]).toContain(readChoice({ text, isCutOff: false }, four));
  });
});
