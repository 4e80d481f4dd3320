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
/** An HTTP date begins with its day; `Date.parse` alone reads almost anything as a date. */
const DATE = /^(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? |\d{4}-\d\d-\d\dT)/i;

/** Response headers by lowercase name. */
export type HeaderLookup = (name: string) => string | null;

/**
 * Returns how long a response asks callers to wait.
 *
 * Read in this order: `retry-after-ms`, `retry-after` (seconds or an HTTP date), and the reset of the
 * exhausted request limit (`x-ratelimit-reset-requests`, as in `6m0s`).
 *
 * @param nowMs - Now, ms since 1970, for dates.
 * @returns Milliseconds, 0..366 days; undefined if no header is readable.
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function parseRetryAfter(header: HeaderLookup, nowMs: number): number | undefined {
  const inMs = header('retry-after-ms') ?? '';
  const text = header('retry-after') ?? '';
  const waitsMs = [
    NUMBER.test(inMs) ? Number(inMs) : undefined,
    NUMBER.test(text) ? Number(text) * 1000 : undefined,
    DATE.test(text) ? Math.max(0, Date.parse(text) - nowMs) : undefined,
    parseDuration(header('x-ratelimit-reset-requests')),
  ];
  return waitsMs.find((waitMs) => waitMs !== undefined && waitMs <= MAX_WAIT_MS);
}

/** Parses a duration such as `1s`, `6m0s` or `250ms` into milliseconds; plain numbers are seconds. */
export function parseDuration(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (NUMBER.test(text)) return Number(text) * 1000;
  if (!/^(\d+(\.\d+)?(ms|[smhd]))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)];
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNIT_MS[unit] ?? 0), 0);
}
