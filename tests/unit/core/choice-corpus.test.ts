import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { readChoice } from '../../../packages/core/src/scorers/choice/read-choice.ts';
import { gradeAnswer } from '../../../packages/core/src/scorers/grade-answer.ts';
import { aQuestion, aRecordedAnswer } from '../../support/builders.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';

/** One line of the corpus: a text as a model writes it, and the choice that a careful reader finds in it. */
const lineSchema = z.strictObject({
  text: z.string(),
  /** The texts of the choices, or their number if the texts do not matter; 0 if the question has none. */
  choices: z.union([z.int().min(0), z.array(z.string())]),
  finishReason: z.enum(['stop', 'length']).default('stop'),
  /** The letter; null if the text settles on no single choice. */
  expected: z.string().nullable(),
  why: z.string().min(1),
  /** Where such a text is shown. */
  source: z.union([z.url(), z.literal('written for the corpus')]),
});

/** A sentence and the words that the scorer must know in the place of `{}`, one at a time. */
const wordsSchema = z.strictObject({
  template: z.string().includes('{}'),
  words: z.array(z.string()).min(1),
  expected: z.string().nullable(),
});

const corpus = readLines('choice.jsonl').map((line) => lineSchema.parse(line));
const sentences = readLines('choice-words.jsonl')
  .map((line) => wordsSchema.parse(line))
  .flatMap(({ template, words, expected }) =>
    words.map((word) => ({ text: template.replace('{}', word), expected })),
  );

describe('the choice scorer reads', () => {
  it.each(corpus)('$expected in $text: $why', async ({ text, choices, finishReason, expected }) => {
    const question = aQuestion({ target: ['A'], choices: toChoices(choices) });
    const recorded = aRecordedAnswer({ output: text, finishReason });

    const grade = await gradeAnswer({ kind: 'choice' }, question, recorded, {
      userCode: inProcessPatterns,
    });

    expect(grade.outcome === 'scored' ? grade.answer : null).toBe(expected);
  });
});

describe('the choice scorer knows each of its words and reads', () => {
  it.each(sentences)('$expected in $text', ({ text, expected }) => {
    const letter = readChoice({ text, isCutOff: false }, ['first', 'second', 'third', 'fourth']);

    expect(letter ?? null).toBe(expected);
  });
});

function readLines(name: string): unknown[] {
  return readFileSync(new URL(`../../fixtures/answers/${name}`, import.meta.url), 'utf8')
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
}

function toChoices(choices: number | string[]): string[] | null {
  if (choices === 0) return null;
  if (typeof choices !== 'number') return choices;
  return Array.from({ length: choices }, (_, index) => `the text of choice ${index + 1}`);
}
