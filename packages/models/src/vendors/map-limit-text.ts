import { ThriceError } from '@thrice/core';

/** Longer texts are answers, even if they contain the words of a notice. */
const MAX_NOTICE_CHARS = 200;

/** Notices that replace an answer. A pattern must match the whole text. */
const EXHAUSTED = [
  /^(?:[\w.]+ ){0,3}usage limit reached(?:\|(?<epoch>\d{10}))?\.?$/i,
  /^you['’]ve hit your (?:usage |weekly |session )?limit · resets .{1,60}$/i,
  /^you['’]re out of extra usage · resets .{1,60}$/i,
];
const RATE_LIMITED = [/^api error: rate limit reached\.?$/i];

/**
 * Recognizes a usage notice that replaces the answer in a successful response.
 *
 * @param text - The whole text of the answer.
 * @returns The error that the notice means; undefined for anything that may be an answer.
 */
export function mapLimitText(text: string): ThriceError | undefined {
  if (text.length > MAX_NOTICE_CHARS) return undefined;
  const notice = text.trim();
  if (RATE_LIMITED.some((pattern) => pattern.test(notice))) {
    return new ThriceError({ code: 'model-rate-limited', message: notice });
  }
  const match = EXHAUSTED.map((pattern) => pattern.exec(notice)).find((found) => found !== null);
  if (match === undefined) return undefined;
  const epoch = match.groups?.['epoch'];
  const resetAt = epoch === undefined ? undefined : new Date(Number(epoch) * 1000).toISOString();
  return new ThriceError({ code: 'quota-exhausted', message: notice, details: { resetAt } });
}
