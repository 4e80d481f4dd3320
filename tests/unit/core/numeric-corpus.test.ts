import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { gradeAnswer } from '../../../packages/core/src/scorers/grade-answer.ts';
import { aQuestion, aRecordedAnswer } from '../../support/builders.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';

/** One line of the corpus: a text as a model writes it, and the number that a careful reader finds in it. */
const lineSchema = z.strictObject({
  text: z.string(),
  finishReason: z.enum(['stop', 'length']).default('stop'),
  /** An exact decimal or fraction, with a percent sign if the text has one; null if the text leaves it open. */
  expected: z.string().nullable(),
  why: z.string().min(1),
  /** Where such a text is shown. */
  source: z.union([z.url(), z.literal('written for the corpus')]),
});

const file = new URL('../../fixtures/answers/numeric.jsonl', import.meta.url);
const corpus = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => lineSchema.parse(JSON.parse(line)));

describe('the numeric scorer reads', () => {
  it.each(corpus)('$expected in $text: $why', async ({ text, finishReason, expected }) => {
    // A target that is the expected number shows that the reading also matches it.
    const question = aQuestion({ target: [expected ?? '0'] });
    const recorded = aRecordedAnswer({ output: text, finishReason });

    const grade = await gradeAnswer({ kind: 'numeric' }, question, recorded, {
      userCode: inProcessPatterns,
    });

    expect(grade.outcome === 'scored' ? grade.answer : null).toBe(expected);
    expect(grade.score).toBe(expected === null ? 0 : 1);
  });
});
