import { classOfCode, type ErrorDetails, limits, ThriceError } from '@thrice/core';
import { type ErrorRow, NO_STATUS } from './errors/error-row.ts';
import { ERROR_TABLE } from './errors/error-table.ts';
import {
  type HeaderLookup,
  parseNextReset,
  parseRetryAfter,
  readStatedWait,
} from './parse-reset.ts';
import { type ErrorReading, readError } from './read-error.ts';

/** An error response, in the terms of the protocol. */
export interface HttpRefusal {
  /** HTTP status; undefined for an error inside a successful response. */
  readonly status: number | undefined;
  /** Parsed JSON, or the text of a body that is none. */
  readonly body: unknown;
  readonly header: HeaderLookup;
}

/** What is decided about an error that no row describes. */
const UNKNOWN: ErrorRow = { code: 'unclassified' };

/**
 * Maps an error response to its error, by the first row of the table that describes it.
 *
 * A rate limit that lasts longer than a lane should be held is an exhausted quota with a known reset.
 *
 * @param nowMs - Now, ms since 1970.
 */
export function mapHttpError(refusal: HttpRefusal, nowMs: number, latencyMs: number): ThriceError {
  const reading = readError(refusal.body);
  const status = refusal.status ?? reading.status;
  const saidMs = parseRetryAfter(refusal.header, nowMs) ?? readStatedWait(reading, nowMs);
  const row = ERROR_TABLE.find((each) => describes(each, { reading, status, saidMs })) ?? UNKNOWN;
  const waitMs =
    row.resetAtMs === undefined
      ? (saidMs ?? nextResetFor(row, refusal, nowMs))
      : row.resetAtMs(nowMs) - nowMs;
  const isLong = row.code === 'model-rate-limited' && (waitMs ?? 0) > limits.longestHoldMs;
  const code = isLong ? 'quota-exhausted' : row.code;
  const details: ErrorDetails = {
    status,
    latencyMs,
    ...resetOf(code, waitMs, nowMs),
    ...scopeOf(row, code),
  };
  const prefix = refusal.status === undefined ? '' : `${refusal.status} `;
  return new ThriceError({ code, message: `${prefix}${reading.message}`.trim(), details });
}

function describes(
  row: ErrorRow,
  error: {
    readonly reading: ErrorReading;
    readonly status: number | undefined;
    readonly saidMs: number | undefined;
  },
): boolean {
  const { reading, status, saidMs } = error;
  if (row.status !== undefined && !row.status.includes(status ?? NO_STATUS)) return false;
  if (row.words?.some((word) => isAmong(reading.words, word)) === false) return false;
  if (row.texts?.some((text) => text.test(reading.text)) === false) return false;
  if (row.isPage === true && !reading.isPage) return false;
  return row.hasStatedWait !== true || saidMs !== undefined;
}

function isAmong(words: readonly string[], wanted: string | RegExp): boolean {
  return typeof wanted === 'string'
    ? words.includes(wanted)
    : words.some((word) => wanted.test(word));
}

/** Limits per minute and second come with every response: they say nothing about when spent credit comes back. */
function nextResetFor(row: ErrorRow, { header }: HttpRefusal, nowMs: number): number | undefined {
  return row.code === 'quota-exhausted' ? undefined : parseNextReset(header, nowMs);
}

/** The wait, for errors that end with time. Headers report limits with every response, whatever is wrong with it. */
function resetOf(
  code: ErrorRow['code'],
  waitMs: number | undefined,
  nowMs: number,
): Pick<ErrorDetails, 'resetAt' | 'retryAfterMs'> {
  if (code === 'quota-exhausted') {
    return { resetAt: waitMs === undefined ? undefined : new Date(nowMs + waitMs).toISOString() };
  }
  const errorClass = classOfCode(code);
  return errorClass === 'transient' || errorClass === 'rate-limited'
    ? { retryAfterMs: waitMs }
    : {};
}

/** Whose breaker the error opens, if it opens one. */
function scopeOf(
  { breakerScope }: ErrorRow,
  code: ErrorRow['code'],
): Pick<ErrorDetails, 'breakerScope'> {
  const errorClass = classOfCode(code);
  if (errorClass !== 'exhausted' && errorClass !== 'misconfigured') return {};
  const isAboutModel = code === 'unknown-model' || code === 'structured-output-refused';
  return { breakerScope: breakerScope ?? (isAboutModel ? 'model' : 'lane') };
}
