import type { ErrorReading } from './read-error.ts';
import { nextInstantOf } from './wall-clock.ts';

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const NUMBER = /^\d+(\.\d+)?$/;
/** Longer waits are ignored, ms: quotas reset within a month. */
const MAX_WAIT_MS = 366 * 86_400_000;
/** Numbers from here on are seconds since 1970, and from there on milliseconds: no wait lasts 30 years. */
const EPOCH_SECONDS = 1e9;
const EPOCH_MS = 1e12;
/** An HTTP date begins with its day; `Date.parse` alone reads almost anything as a date. */
const DATE = /^(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? |\d{4}-\d\d-\d\d[T ])/i;

/** Response headers by lowercase name. */
export type HeaderLookup = (name: string) => string | null;

/**
 * How long the body of an error asks callers to wait: in a field of its own, or in its text.
 *
 * @param nowMs - Now, ms since 1970.
 * @returns Milliseconds, more than 0, at most 366 days; undefined if it does not say.
 */
export function readStatedWait(
  { text, resets }: Pick<ErrorReading, 'text' | 'resets'>,
  nowMs: number,
): number | undefined {
  const fields = [...resets].sort(
    ([a], [b]) => Number(isInstantName(a)) - Number(isInstantName(b)),
  );
  const waits = fields.map(([, value]) => parseWait(value, nowMs));
  return firstWait([...waits, waitInText(text, nowMs)]);
}

/** An instant depends on whose clock is right; a wait beside it does not. */
function isInstantName(name: string): boolean {
  return name === 'resets_at' || name === 'x-ratelimit-reset';
}

/**
 * How long the headers of a response ask callers to wait: `retry-after-ms`, else `retry-after`, else until the latest
 * reset of the limits that are used up.
 *
 * A wait of 0 and an instant in the past say nothing about when to call again: the call was refused just now.
 *
 * @param nowMs - Now, ms since 1970, for instants.
 * @returns Milliseconds, more than 0, at most 366 days; undefined if no header says it.
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function parseRetryAfter(header: HeaderLookup, nowMs: number): number | undefined {
  const inMs = header('retry-after-ms') ?? '';
  const used = readLimits(header, nowMs).filter(({ left }) => left === 'none');
  return firstWait([
    NUMBER.test(inMs) ? Number(inMs) : undefined,
    parseWait(header('retry-after'), nowMs),
    used.length > 0 ? Math.max(...used.map(({ waitMs }) => waitMs)) : undefined,
  ]);
}

/**
 * The earliest reset among the limits of which the headers do not say what is left.
 *
 * A limit of which something is left is not what refused the call.
 *
 * @param nowMs - Now, ms since 1970, for instants.
 * @returns Milliseconds, more than 0, at most 366 days; undefined if there is none.
 */
export function parseNextReset(header: HeaderLookup, nowMs: number): number | undefined {
  const waits = readLimits(header, nowMs)
    .filter(({ left, waitMs }) => left === 'unknown' && waitMs > 0)
    .map(({ waitMs }) => waitMs);
  return waits.length > 0 ? firstWait([Math.min(...waits)]) : undefined;
}

/** Parses a duration such as `1s`, `6m0s` or `250ms` into milliseconds; plain numbers are seconds. */
export function parseDuration(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (NUMBER.test(text)) return Number(text) * 1000;
  if (!/^(\d+(\.\d+)?(ms|[smhd]))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)];
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNIT_MS[unit] ?? 0), 0);
}

/** Parses a wait: seconds, a duration, seconds or milliseconds since 1970, or a date. Ms, or undefined. */
function parseWait(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined;
  if (NUMBER.test(text) && Number(text) >= EPOCH_SECONDS) {
    const instant = Number(text);
    return Math.max(0, (instant >= EPOCH_MS ? instant : instant * 1000) - nowMs);
  }
  if (DATE.test(text)) {
    const waitMs = Date.parse(withZone(text)) - nowMs;
    return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
  }
  return parseDuration(text);
}

/** An instant without a zone is in UTC, wherever this machine is. */
function withZone(text: string): string {
  if (/(?:[zZ]|\b(?:[A-Z]{2,4})|[+-]\d\d:?\d\d)$/.test(text)) return text;
  return /^\d/.test(text) ? `${text}Z` : `${text} GMT`;
}

/** The first wait that is one: longer than 0, and no longer than the longest. */
function firstWait(waitsMs: readonly (number | undefined)[]): number | undefined {
  const waitMs = waitsMs.find((each) => each !== undefined && each > 0 && each <= MAX_WAIT_MS);
  return waitMs === undefined ? undefined : Math.ceil(waitMs);
}

/** A limit that headers report, and how long until it is renewed. */
interface ReportedLimit {
  readonly waitMs: number;
  /** Vendors report limits that have much left, too, and those reset later or sooner. */
  readonly left: 'none' | 'some' | 'unknown';
}

/**
 * The names under which vendors report limits: the reset, and what says that nothing is left.
 *
 * OpenAI (https://platform.openai.com/docs/guides/rate-limits), Anthropic
 * (https://docs.claude.com/en/api/rate-limits), Cerebras (https://inference-docs.cerebras.ai/support/rate-limits),
 * Fireworks, OpenRouter, GitHub and the IETF draft (ratelimit-*). 2026-11.
 */
const LIMITS: readonly { readonly reset: string; readonly left: string }[] = [
  ...['requests', 'tokens', 'tokens-minute', 'requests-day', 'tokens-day', 'requests-minute'].map(
    (name) => ({ reset: `x-ratelimit-reset-${name}`, left: `x-ratelimit-remaining-${name}` }),
  ),
  ...['requests', 'tokens', 'input-tokens', 'output-tokens'].map((name) => ({
    reset: `anthropic-ratelimit-${name}-reset`,
    left: `anthropic-ratelimit-${name}-remaining`,
  })),
  { reset: 'anthropic-ratelimit-unified-reset', left: 'anthropic-ratelimit-unified-status' },
  { reset: 'x-ratelimit-reset', left: 'x-ratelimit-remaining' },
  { reset: 'ratelimit-reset', left: 'ratelimit-remaining' },
];

function readLimits(header: HeaderLookup, nowMs: number): readonly ReportedLimit[] {
  return LIMITS.flatMap(({ reset, left }) => {
    const waitMs = parseWait(header(reset), nowMs);
    if (waitMs === undefined || waitMs > MAX_WAIT_MS) return [];
    return [{ waitMs, left: readLeft(header(left)) }];
  });
}

/** @param text - A count, which may have fallen below 0, or Anthropic's `rejected` or `allowed`. */
function readLeft(text: string | null): ReportedLimit['left'] {
  if (text === null || text === '') return 'unknown';
  return text === 'rejected' || Number(text) <= 0 ? 'none' : 'some';
}

const UNITS = [
  'milliseconds?',
  'minutes?',
  'mins?',
  'seconds?',
  'secs?',
  'hours?',
  'days?',
  'ms',
  '[smhd]',
].join('|');
/** A duration in a sentence: `18.642s`, `6m0s`, `1 seconds`, `2 hours`. */
const SPAN = String.raw`(\d+(?:\.\d+)?)\s{0,2}(${UNITS})(?![a-z])`;
/** What sentences say before the durations that they ask callers to wait. */
const BEFORE_SPANS = [
  'try again (?:in|after)',
  'retry(?:ing)? (?:in|after)',
  'wait(?: for)?',
  'again in',
  'resets? in',
  'reset after',
  'available in',
].join('|');
const SPANS = new RegExp(
  String.raw`\b(?:${BEFORE_SPANS})\s{1,3}(?:about |~)?((?:${SPAN}[\s,]{0,2}(?:and )?){1,5})`,
  'i',
);
const EACH_SPAN = new RegExp(SPAN, 'gi');
/** `regain access on 2025-07-01 at 00:00 UTC`, `Limit resets at: 2026-01-02 03:05:00 UTC`, `until 2026-...Z`. */
const INSTANT =
  /\b(?:access on|resets? (?:at|on)|until|again (?:at|after|on)):? {0,2}(\d{4}-\d\d-\d\d)(?:[T ]|,? at )(\d\d:\d\d(?::\d\d)?)(?:\.\d{1,9})? ?(?:utc|z|gmt|\+00:00)/i;
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAY = String.raw`(${MONTHS.join('|')})[a-z]{0,6} (\d{1,2})(?:,|,? at)?`;
const TIME = String.raw`(\d{1,2})(?::(\d\d))? ?(am|pm)`;
const ZONE = String.raw`\(([A-Za-z0-9_+/-]{2,40})\)`;
/** `resets 3:50pm (Asia/Tokyo)`, `will reset at 1pm (Etc/GMT+5)`, `resets Oct 6, 10am (Europe/Berlin)`. */
const CLOCK = new RegExp(String.raw`\bresets?(?: at| on)? (?:${DAY} )?${TIME} ?${ZONE}`, 'i');

/** Azure API Management: `Quota will be replenished in 05:12:09`, or in `1.05:12:09` days. */
const CLOCK_SPAN = /\breplenished in (?:(\d{1,2})\.)?(\d\d):(\d\d):(\d\d)\b/i;

/** How long a sentence asks callers to wait, ms. */
function waitInText(text: string, nowMs: number): number | undefined {
  return spanIn(text) ?? instantIn(text, nowMs) ?? clockTimeIn(text, nowMs);
}

function spanIn(text: string): number | undefined {
  const spans = SPANS.exec(text)?.[1];
  if (spans === undefined) return clockSpanIn(text);
  return [...spans.matchAll(EACH_SPAN)].reduce((sum, [, count, unit = '']) => {
    const name = /^(?:ms|milli)/i.test(unit) ? 'ms' : unit.slice(0, 1).toLowerCase();
    return sum + Number(count) * (UNIT_MS[name] ?? 0);
  }, 0);
}

function clockSpanIn(text: string): number | undefined {
  const [, days = '0', hours, minutes, seconds] = CLOCK_SPAN.exec(text) ?? [];
  if (hours === undefined) return undefined;
  const minuteCount = (Number(days) * 24 + Number(hours)) * 60 + Number(minutes);
  return minuteCount * 60_000 + Number(seconds) * 1_000;
}

function instantIn(text: string, nowMs: number): number | undefined {
  const [, date, time] = INSTANT.exec(text) ?? [];
  return date === undefined ? undefined : parseWait(`${date}T${time}Z`, nowMs);
}

/** The time on a clock says nothing without its zone. */
function clockTimeIn(text: string, nowMs: number): number | undefined {
  const [, month, day, hour, minute, half, zone] = CLOCK.exec(text) ?? [];
  if (hour === undefined || zone === undefined || Number(hour) > 12) return undefined;
  const time = {
    hour: (Number(hour) % 12) + (half?.toLowerCase() === 'pm' ? 12 : 0),
    minute: Number(minute ?? 0),
    date:
      month === undefined
        ? undefined
        : { month: MONTHS.indexOf(month.toLowerCase()) + 1, day: Number(day) },
  };
  const instantMs = nextInstantOf(time, zone, nowMs);
  return instantMs === undefined ? undefined : instantMs - nowMs;
}
