import { ThriceError } from '@thrice/core';
import { mapHttpError } from './map-http-error.ts';
import { readStatedWait } from './parse-reset.ts';

/** Longer texts are answers, even if they contain the words of a notice. */
const MAX_NOTICE_CHARS = 200;
/** A notice that quotes an error body is as long as the body. */
const MAX_QUOTE_CHARS = 2_000;

/**
 * Notices that replace an answer. A pattern must match the whole text. They are those of the coding assistants that
 * some endpoints put behind a chat API: https://github.com/anthropics/claude-code/issues (2026-11).
 */
const EXHAUSTED = [
  /^(?:[\w.]+ ){0,3}usage limit reached(?:\|(?<epoch>\d{10}))?\.?$/i,
  /^(?:[\w.]+ ){0,3}usage limit reached\. your limit will reset at .{1,60}$/i,
  /^you['’]ve hit your (?:usage |weekly |session |opus )?limit · resets .{1,60}$/i,
  /^you['’]ve hit your monthly spend limit · .{1,60}$/i,
  /^you['’]re out of extra usage · resets .{1,60}$/i,
  /^(?:weekly|session|5-hour|opus weekly) limit reached [·∙] resets .{1,60}$/i,
];
const RATE_LIMITED = [
  /^api error: rate limit reached\.?$/i,
  /^api error: server is temporarily limiting requests.{0,60} · rate limited$/i,
];
/** `API Error: 529 {...}`, `API Error: 400 Output blocked by content filtering policy`. */
const QUOTED =
  /^api error: (?:(?<status>[45]\d\d) )?(?<body>\{.*\}|output blocked by content filtering policy)$/is;

/**
 * Recognizes a usage notice that replaces the answer in a successful response.
 *
 * @param text - The whole text of the answer.
 * @param nowMs - Now, ms since 1970, for notices that name a time of day.
 * @returns The error that the notice means; undefined for anything that may be an answer.
 */
export function mapLimitText(text: string, nowMs: number): ThriceError | undefined {
  if (text.length > MAX_QUOTE_CHARS) return undefined;
  const notice = text.trim();
  const quoted = QUOTED.exec(notice)?.groups;
  if (quoted !== undefined) return mapQuoted(notice, quoted, nowMs);
  if (text.length > MAX_NOTICE_CHARS) return undefined;
  if (RATE_LIMITED.some((pattern) => pattern.test(notice))) {
    return new ThriceError({ code: 'model-rate-limited', message: notice });
  }
  const match = EXHAUSTED.map((pattern) => pattern.exec(notice)).find((found) => found !== null);
  if (match === undefined) return undefined;
  const epoch = match.groups?.['epoch'];
  const waitMs = readStatedWait({ text: notice, resets: new Map() }, nowMs);
  const resetMs = waitMs === undefined ? undefined : nowMs + waitMs;
  const resetAtMs = epoch === undefined ? resetMs : Number(epoch) * 1000;
  const resetAt = resetAtMs === undefined ? undefined : new Date(resetAtMs).toISOString();
  return new ThriceError({ code: 'quota-exhausted', message: notice, details: { resetAt } });
}

/** The error that a notice quotes, under the words of the notice. */
function mapQuoted(
  notice: string,
  { status, body }: Readonly<Record<string, string | undefined>>,
  nowMs: number,
): ThriceError {
  const refusal = {
    status: status === undefined ? undefined : Number(status),
    body: body ?? '',
    header: () => null,
  };
  const { code, details } = mapHttpError(refusal, nowMs, 0);
  const { resetAt, retryAfterMs, breakerScope } = details;
  return new ThriceError({
    code,
    message: notice,
    details: { resetAt, retryAfterMs, breakerScope },
  });
}
