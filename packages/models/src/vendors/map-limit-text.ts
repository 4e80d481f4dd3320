import { ThriceError } from '@thrice/core';
import { mapHttpError } from './map-http-error.ts';
import { readStatedWait } from './parse-reset.ts';

/** Longer texts are answers, even if they contain the words of a notice. */
const MAX_NOTICE_CHARS = 200;
/** A notice that quotes an error body is as long as the body. */
const MAX_QUOTE_CHARS = 2_000;

/**
 * Notices that replace an answer. A pattern must match the whole text, and is a product's fixed form: its name, or its
 * words up to the reset. Words that any answer may consist of are none. They are those of the coding assistants that
 * some endpoints put behind a chat API: https://github.com/anthropics/claude-code/issues and
 * https://github.com/openai/codex/issues (2026-11).
 */
const EXHAUSTED = [
  // Claude Code.
  /^claude(?: ai)? usage limit reached(?:\|(?<epoch>\d{10}))?\.?$/i,
  /^(?:[\w.]+ ){0,3}usage limit reached(?:\|(?<epoch>\d{10})|\. your limit will reset at .{1,60})$/i,
  /^you['’]ve hit your (?:usage |weekly |session |opus )?limit [·∙] resets .{1,60}$/i,
  /^you['’]ve hit your (?:monthly|extra usage) spend limit [·∙] .{1,60}$/i,
  /^you['’]re out of extra usage [·∙] resets .{1,60}$/i,
  /^(?:weekly|session|5-hour|opus weekly) limit reached [·∙] resets .{1,60}$/i,
  // Codex: https://github.com/openai/codex/issues/3257, /2669, /31567.
  /^(?:\W{1,4} )?you['’]ve hit your usage limit\. try again in (?:\d{1,3} (?:days?|hours?|minutes?)[ .]?){1,3}$/i,
  /^(?:\W{1,4} )?you['’]ve hit your usage limit\. upgrade to (?:plus|pro) \(https:.{1,160}$/i,
  /^you['’]re out of codex messages\s{1,4}your rate limit resets on .{1,160}$/i,
];
const RATE_LIMITED = [
  /^api error: rate limit reached\.?$/i,
  /^api error: server is temporarily limiting requests.{0,60} · rate limited$/i,
];
/** https://github.com/anthropics/claude-code/issues/65116: as long as the help that it adds. */
const FILTERED =
  /^api error: claude code is unable to respond to this request, which appears to violate our usage policy\b/i;
/** `API Error: 529 {...}`, `API Error: 503 no healthy upstream` of Envoy, `API Error: 400 Output blocked by ...`. */
const QUOTED =
  /^api error: (?:(?<status>[45]\d\d) )?(?<body>\{.*\}|output blocked by content filtering policy|no healthy upstream)$/is;

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
  if (FILTERED.test(notice)) return new ThriceError({ code: 'content-filtered', message: notice });
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

/**
 * The error that a notice quotes, under the words of the notice; undefined for an object without a status that is not
 * of the vendor's form: a model may be asked to write one.
 */
function mapQuoted(
  notice: string,
  { status, body = '' }: Readonly<Record<string, string | undefined>>,
  nowMs: number,
): ThriceError | undefined {
  const isOwnForm = !body.startsWith('{') || /^\{\s{0,4}"type"\s{0,4}:\s{0,4}"error"/.test(body);
  if (status === undefined && !isOwnForm) return undefined;
  const refusal = {
    status: status === undefined ? undefined : Number(status),
    body,
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
