import { callsOf, type Journal, totalCost } from '../domain/call.ts';
import { type CellResult, noAnswer } from '../domain/cell.ts';
import type { CellError } from '../domain/error-code.ts';
import type { ThriceError } from '../errors.ts';
import { limits } from '../limits.ts';

/** An error as it is stored: with its text shortened and without its cause. */
export function describeError(error: ThriceError): CellError {
  const message = error.message.slice(0, limits.errorTextChars);
  return { class: error.class, code: error.code, message };
}

/** The result of a failed cell, which keeps the record of its paid calls. */
export function toFailedResult(
  error: ThriceError,
  {
    journal,
    failedAttempts,
    startedAt,
  }: {
    readonly journal: Journal;
    readonly failedAttempts: number;
    readonly startedAt: string;
  },
): Omit<CellResult, 'grading' | 'finishedAt'> {
  const calls = callsOf(journal);
  return {
    outcome: 'failed',
    score: null,
    answer: null,
    ...noAnswer,
    reason: error.code,
    error: describeError(error),
    costUsd: totalCost(calls),
    latencyMs: null,
    startedAt,
    calls,
    attempts: failedAttempts + calls.length,
  };
}
