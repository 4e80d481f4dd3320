import { readFileSync } from 'node:fs';
import { classOfCode, type ErrorCode, type ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { readCompletion } from '../../../packages/models/src/chat/read-completion.ts';
import { mapHttpError } from '../../../packages/models/src/vendors/map-http-error.ts';
import { mapLimitText } from '../../../packages/models/src/vendors/map-limit-text.ts';
import { aLane } from '../../support/builders.ts';

const vectorSchema = z.strictObject({
  id: z.string(),
  vendor: z.string(),
  /** By its status, in the body of a 200, as the data of an event, or as the text of an answer. */
  where: z.enum(['refusal', 'body', 'event', 'text']),
  status: z.int().nullable(),
  headers: z.record(z.string(), z.string()),
  /** As sent: JSON, or a text that is none. */
  body: z.unknown(),
  now: z.iso.datetime(),
  expected: z.strictObject({
    class: z.string(),
    code: z.string(),
    breakerScope: z.enum(['lane', 'model']).nullable(),
    retryAfterMs: z.int().nullable(),
    resetAt: z.iso.datetime().nullable(),
  }),
  /** Where the shape was published, or that it was found in code whose address was not kept. */
  source: z.string(),
  note: z.string().optional(),
});
type Vector = z.infer<typeof vectorSchema>;

const vectors = readVectors('vendor-errors.jsonl');
/** Wordings that no source was found for: they hold the table's patterns in place and prove nothing about vendors. */
const unsourced = readVectors('vendor-errors-unsourced.jsonl');

describe('the error table', () => {
  it('finds an error in an array in a successful response', () => {
    const { problem } = readCompletion([{ error: { code: 429, message: 'slow down' } }], {
      lane: aLane(),
      nowMs: 0,
    });
    const body = problem !== undefined && 'error' in problem ? problem.error : undefined;

    const error = mapHttpError({ status: undefined, body, header: () => null }, 0, 0);

    expect(error).toMatchObject({ code: 'model-rate-limited', message: 'slow down' });
  });

  it.each([...vectors, ...unsourced])('reads $id ($where $status) as $expected.code', (vector) => {
    expect(describeError(errorOf(vector))).toEqual(vector.expected);
  });
});

function readVectors(name: string): readonly Vector[] {
  return readFileSync(`tests/fixtures/${name}`, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => vectorSchema.parse(JSON.parse(line)));
}

function errorOf({ where, status, headers, body, now }: Vector): Finding | undefined {
  const nowMs = Date.parse(now);
  const header = (name: string) => headers[name] ?? null;
  if (where === 'text') return mapLimitText(String(body), nowMs);
  if (where === 'refusal') return mapHttpError({ status: status ?? 0, body, header }, nowMs, 0);
  if (where === 'event') return mapHttpError({ status: undefined, body, header }, nowMs, 0);
  const { problem, finishReason } = readCompletion(body, { lane: aLane(), nowMs });
  if (problem === undefined && finishReason === 'content-filter') {
    return { code: 'content-filtered', details: {} };
  }
  if (problem === undefined || !('error' in problem)) return problem;
  return mapHttpError({ status: undefined, body: problem.error, header }, nowMs, 0);
}

type Finding = Pick<ThriceError, 'code' | 'details'>;

function describeError(error: Finding | undefined): object {
  const { code, details } = error ?? { code: 'none' as ErrorCode, details: {} };
  const { breakerScope, retryAfterMs, resetAt } = details;
  const errorClass = classOfCode(code);
  const isOpening = errorClass === 'exhausted' || errorClass === 'misconfigured';
  return {
    class: errorClass,
    code,
    breakerScope: breakerScope ?? (isOpening ? 'lane' : null),
    retryAfterMs: retryAfterMs ?? null,
    resetAt: resetAt ?? null,
  };
}
