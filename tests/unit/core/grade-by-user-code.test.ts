import { type AnswerToScore, type OwnGrade, type OwnScorer, scorer } from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UserCall } from '../../../packages/core/src/ports/user-code.ts';
import { gradeAnswer } from '../../../packages/core/src/scorers/grade-answer.ts';
import { aQuestion, aRecordedAnswer } from '../../support/builders.ts';
import { inProcessPatterns } from '../../support/in-process-patterns.ts';

const metrics: OwnScorer['metrics'] = {
  words: { unit: 'words', better: 'none', range: [0, null] },
  close: {},
};
const spec = {
  kind: 'file',
  path: './own.ts',
  loaded: {
    files: { 'own.ts': '' },
    version: 3,
    metrics: {
      words: { unit: 'words', better: 'none', range: [0, null] },
      close: { unit: 'ratio', better: 'higher', range: [null, null] },
    },
  },
};

/** Grades an answer by a call that ends in a given way. */
async function gradeBy(ended: UserCall, question = aQuestion()) {
  const userCode = { ...inProcessPatterns, call: async () => ended };
  return await gradeAnswer(spec, question, aRecordedAnswer(), { userCode });
}

const returning = async (value: unknown) => await gradeBy({ kind: 'returned', value });
const none = { words: null, close: null };

describe('a grade by code of a user', () => {
  it('is what its function says of the question and the answer', async () => {
    const asked: AnswerToScore[] = [];
    const own = scorer({
      version: 3,
      ...(metrics && { metrics }),
      score: (answer): OwnGrade => {
        asked.push(answer);
        return { score: 0.5, answer: 'half', reason: 'close', metrics: { close: 0.75 } };
      },
    });
    const userCode = {
      ...inProcessPatterns,
      call: async ({ input }: { readonly input: unknown }): Promise<UserCall> => ({
        kind: 'returned',
        value: own.score(input as AnswerToScore),
      }),
    };
    const recorded = aRecordedAnswer({ output: '<think>Well.</think>42', finishReason: 'length' });

    const grade = await gradeAnswer(spec, aQuestion({ id: 'q7' }), recorded, { userCode });

    expect(grade).toEqual({
      outcome: 'scored',
      score: 0.5,
      answer: 'half',
      reason: 'close',
      metrics: { words: null, close: 0.75 },
    });
    expect(asked).toMatchObject([
      { id: 'q7', output: '<think>Well.</think>42', answer: '42', isCutOff: true },
    ]);
  });

  it.each<[returned: object, grade: object]>([
    [{ score: true }, { outcome: 'scored', score: 1, reason: null }],
    [{ score: false }, { outcome: 'scored', score: 0, reason: null }],
    [{ score: null }, { outcome: 'ungraded', score: null, reason: 'no-score' }],
    [
      { score: null, reason: 'spoiled' },
      { outcome: 'ungraded', score: null, reason: 'spoiled' },
    ],
  ])('of %j', async (returned, grade) => {
    expect(await returning(returned)).toEqual({ ...grade, answer: null, metrics: none });
  });

  it.each<[returned: unknown, problem: string]>([
    [{ score: 1.01 }, 'expected a number from 0 to 1, or null'],
    [{ score: -0.01 }, 'expected a number from 0 to 1, or null'],
    [{ score: '1' }, 'expected a number from 0 to 1, or null'],
    [{}, 'expected a number from 0 to 1, or null'],
    [1, 'expected object'],
    [{ score: 1, grade: 2 }, 'grade'],
    [{ score: 1, metrics: { other: 1 } }, 'expected words, close, received "other"'],
    [{ score: 1, metrics: { words: '3' } }, 'words'],
    [{ score: 1, metrics: { words: -1 } }, 'metrics.words: expected 0 to Infinity, received -1'],
    [JSON.parse('{"score": 1, "metrics": {"__proto__": 1}}'), '__proto__'],
  ])('is none for %j', async (returned, problem) => {
    const { error, ...grade } = await returning(returned);

    expect(grade).toEqual({
      outcome: 'ungraded',
      score: null,
      answer: null,
      reason: 'scorer-failed',
      metrics: none,
    });
    expect(error).toMatchObject({ class: 'user-code', code: 'scorer-failed' });
    expect(error?.message).toContain(problem);
  });

  it.each<[ended: UserCall, code: string, message: string]>([
    [{ kind: 'threw', message: 'TypeError: no' }, 'scorer-failed', 'TypeError: no'],
    [{ kind: 'unusable', message: 'NaN' }, 'scorer-failed', 'NaN'],
    [{ kind: 'crashed', message: 'SIGKILL' }, 'scorer-crashed', 'SIGKILL'],
    [{ kind: 'timeout' }, 'scorer-timeout', 'took longer than 5 s'],
  ])('says how its function ended: %j', async (ended, code, message) => {
    expect(await gradeBy(ended)).toMatchObject({
      outcome: 'ungraded',
      reason: code,
      error: { class: 'user-code', code, message },
    });
  });

  it('is left to the function where a question has no target, and never made of a refusal', async () => {
    const graded = await gradeBy(
      { kind: 'returned', value: { score: 1 } },
      aQuestion({ target: null }),
    );
    const refused = await gradeAnswer(spec, aQuestion(), aRecordedAnswer({ refusal: 'No.' }), {
      userCode: inProcessPatterns,
    });

    expect(graded.score).toBe(1);
    expect(refused).toMatchObject({ outcome: 'unparsed', score: 0, reason: 'refused' });
  });

  it('is always one, whatever JSON the function returns', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        const { outcome, score } = await returning(value);

        expect(outcome === 'ungraded' ? score : Number(score) >= 0 && Number(score) <= 1).toBe(
          outcome === 'ungraded' ? null : true,
        );
      }),
    );
  });
});
