import * as z from 'zod';
import { type Grade, scored, ungraded } from '../domain/grade.ts';
import type { Question } from '../domain/question.ts';
import {
  type AnswerText,
  type ConfiguredScorer,
  declaredMetrics,
  type UserScorer,
} from '../domain/scorer.ts';
import { classOfCode, type ErrorCode } from '../errors.ts';
import { limits } from '../limits.ts';
import type { UserCall } from '../ports/user-code.ts';
import type { GroupCode } from './group-code.ts';

const EXPECTED_SCORE = 'expected a number from 0 to 1, or null';

/** What the function `score` of a file returns, and what a command writes. */
const returnedSchema = z.strictObject({
  /** True and false count as 1 and 0; null for an answer that it cannot grade. */
  score: z.union(
    [
      z.number().min(0, EXPECTED_SCORE).max(1, EXPECTED_SCORE),
      z.boolean().transform(Number),
      z.null(),
    ],
    { error: EXPECTED_SCORE },
  ),
  answer: z.string().nullable().default(null),
  reason: z.string().max(limits.errorTextChars).nullable().default(null),
  metrics: z.record(z.string(), z.number().nullable()).default({}),
});

/** Has code of the user grade an answer. Whatever it does, the answer is ungraded at worst. */
export async function gradeByUserCode(
  configured: ConfiguredScorer & { readonly scorer: UserScorer },
  question: Question,
  { output, text: answerText, isCutOff }: AnswerText & { readonly output: string | null },
  { userCode, config }: { readonly userCode: GroupCode; readonly config?: string | undefined },
): Promise<Grade> {
  const { scorer, parameters } = configured;
  const { id, question: asked, messages, choices, target, rubric, tags, metadata } = question;
  const input = {
    ...{ id, question: asked, messages, choices, target, rubric, tags, metadata },
    ...{ config, output, answer: answerText, isCutOff },
  };
  const { code, limitMs } = scorer.codeOf(parameters);
  const called = await userCode.call({ code, method: 'score', input, limitMs });
  if (called.kind !== 'returned') return failedGrade(called, limitMs);
  const declared = declaredMetrics(configured);
  const known = declared.map(({ name }) => name);
  const { data, error } = returnedSchema.safeParse(called.value);
  if (data === undefined) return failed('scorer-failed', `returned: ${z.prettifyError(error)}`);
  const { score, answer, reason, metrics } = data;
  // As they were returned: parsing leaves out a key that is none of its own.
  const given = Object.keys((called.value as { readonly metrics?: object }).metrics ?? {});
  const unknown = given.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const expected = known.length === 0 ? 'none, as none are declared' : known.join(', ');
    return failed('scorer-failed', `returned metrics: expected ${expected}, received "${unknown}"`);
  }
  const outside = declared.find(({ name, range: [least, most] }) => {
    const value = metrics[name] ?? least;
    return value < least || value > most;
  });
  if (outside !== undefined) {
    const { name, range } = outside;
    const expected = `expected ${range.join(' to ')}, received ${metrics[name]}`;
    return failed('scorer-failed', `returned metrics.${name}: ${expected}`);
  }
  const grade = score === null ? ungraded(reason ?? 'no-score', answer) : scored(score, answer);
  return { ...grade, metrics, ...(score !== null && { reason }) };
}

function failedGrade(called: Exclude<UserCall, { kind: 'returned' }>, limitMs: number): Grade {
  switch (called.kind) {
    case 'timeout':
      return failed('scorer-timeout', `took longer than ${limitMs / 1_000} s`);
    case 'crashed':
      return failed('scorer-crashed', called.message);
    default:
      return failed('scorer-failed', called.message);
  }
}

function failed(code: ErrorCode, message: string): Grade {
  const error = { class: classOfCode(code), code, message: message.slice(0, MESSAGE_CHARS) };
  return { ...ungraded(code), error };
}

/** Enough for the stack of an error. */
const MESSAGE_CHARS = 2_000;
