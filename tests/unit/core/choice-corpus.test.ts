import { readFileSync } from 'node:fs';
import { gradeAnswer } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
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

const file = new URL('../../fixtures/answers/choice.jsonl', import.meta.url);
const corpus = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => lineSchema.parse(JSON.parse(line)));

describe('the choice scorer reads', () => {
  it.each(corpus)('$expected in $text: $why', async ({ text, choices, finishReason, expected }) => {
    const question = aQuestion({ target: ['A'], choices: toChoices(choices) });
    const recorded = aRecordedAnswer({ output: text, finishReason });

    const grade = await gradeAnswer({ kind: 'choice' }, question, recorded, {
      patterns: inProcessPatterns,
    });

    expect(grade.outcome === 'scored' ? grade.answer : null).toBe(expected);
  });
});

describe('the corpus of choices', () => {
  it('has at least 220 different texts', () => {
    const texts = corpus.map(({ text, choices, finishReason }) =>
      JSON.stringify([text, choices, finishReason]),
    );

    expect(new Set(texts).size).toBe(texts.length);
    expect(texts.length).toBeGreaterThanOrEqual(220);
  });
});

function toChoices(choices: number | string[]): string[] | null {
  if (choices === 0) return null;
  if (typeof choices !== 'number') return choices;
  return Array.from({ length: choices }, (_, index) => `the text of choice ${index + 1}`);
}
