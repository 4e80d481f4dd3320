const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Response headers by lower-case name. */
export type HeaderLookup = (name: string) => string | null;

/**
 * How long a response asks to wait.
 *
 * Read in this order: `retry-after-ms`, `retry-after` (seconds or an HTTP date), and the reset of the
 * exhausted request limit (`x-ratelimit-reset-requests`, as in `6m0s`).
 *
 * @param nowMs - Now, ms since 1970, for dates.
 * @returns Milliseconds >= 0; undefined where the response says nothing readable.
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function parseRetryAfter(header: HeaderLookup, nowMs: number): number | undefined {
  const inMs = Number(header('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(inMs) && inMs >= 0) return inMs;
  const text = header('retry-after');
  if (text !== null) {
    const waitMs = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
    if (Number.isFinite(waitMs)) return Math.max(0, waitMs);
  }
  return parseDuration(header('x-ratelimit-reset-requests'));
}

/** A duration as in `1s`, `6m0s`, `250ms`; plain numbers are seconds. */
export function parseDuration(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  if (!/^(\d+(\.\d+)?(ms|[smhd]))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)];
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNIT_MS[unit] ?? 0), 0);
}
