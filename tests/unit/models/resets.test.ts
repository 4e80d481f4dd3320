import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mapHttpError } from '../../../packages/models/src/vendors/map-http-error.ts';
import {
  parseNextReset,
  parseRetryAfter,
} from '../../../packages/models/src/vendors/parse-reset.ts';
import { nextInstantOf, nextMidnight } from '../../../packages/models/src/vendors/wall-clock.ts';

const nowMs = Date.parse('2026-01-02T03:04:05.000Z');
const MAX_HOLD_MS = 300_000;

function headersOf(headers: Readonly<Record<string, string>>): (name: string) => string | null {
  return (name) => headers[name] ?? null;
}

/** The wait that a rate limit with this text states, ms; undefined if it states none. */
function waitIn(message: string, atMs = nowMs): number | undefined {
  const refusal = { status: 429, body: { error: { message } }, header: () => null };
  const { resetAt, retryAfterMs } = mapHttpError(refusal, atMs, 0).details;
  return resetAt === undefined ? retryAfterMs : Date.parse(resetAt) - atMs;
}

describe('the reset of a limit', () => {
  it.each([
    ['Please try again in 18.642s.', 18_642],
    ['Please try again in 174ms.', 174],
    ['Please try again in 250 milliseconds.', 250],
    ['Please try again in 1 millisecond.', 1],
    ['Please try again in 3 minutes.', 180_000],
    ['Please try again in 3 mins.', 180_000],
    ['Please try again in 4 secs.', 4_000],
    ['Please try again in 2 days.', 172_800_000],
    ['Please try again in 7m12s.', 432_000],
    ['Please try again in 1h2m3s', 3_723_000],
    ['Please retry in 36.429760048s.', 36_430],
    ['Please retry after 33 seconds. Please go here:', 33_000],
    ['please try again after 1 seconds', 1_000],
    ['Please wait 52220 seconds before retrying.', 52_220_000],
    ['Rate limited. Retry in 5 minutes', 300_000],
    ['Try again in 2 hours and 30 minutes', 9_000_000],
    ['You will regain access on 2026-02-01 at 00:00 UTC.', 2_580_955_000],
    ['Limit resets at: 2026-01-02 03:05:05 UTC', 60_000],
    ['until 2026-01-02T03:04:35.123Z', 30_000],
    ['Your limit will reset at 1pm (Etc/GMT+5).', 53_755_000],
    ['resets Oct 6, 10am (Europe/Berlin)', Date.parse('2026-10-06T08:00:00Z') - nowMs],
  ])('is read from "%s"', (text, waitMs) => {
    expect(waitIn(text)).toBe(waitMs);
  });

  it.each([
    'Please try again later.',
    'Please try again in 0s.',
    'regain access on 2025-07-01 at 00:00 UTC',
    'resets Oct 6, 10am',
    'resets 3pm (Middle/Earth)',
    'resets 13pm (Asia/Tokyo)',
    'resets Feb 30, 10am (Asia/Tokyo)',
    'try again in soon',
    'Limit 30000, Used 14567, Requested 24754',
    `try again in ${'9'.repeat(30)} days`,
  ])('is unknown for "%s"', (text) => {
    expect(waitIn(text)).toBeUndefined();
  });

  it('is read back from every rendered duration', () => {
    const parts = fc.record({
      hours: fc.nat({ max: 99 }),
      minutes: fc.nat({ max: 59 }),
      ms: fc.nat({ max: 59_999 }),
    });

    fc.assert(
      fc.property(parts, ({ hours, minutes, ms }) => {
        const totalMs = hours * 3_600_000 + minutes * 60_000 + ms;

        expect(waitIn(`Please try again in ${hours}h${minutes}m${ms / 1000}s.`)).toBe(totalMs);
        expect(
          waitIn(`retry after ${hours} hours, ${minutes} minutes and ${ms / 1000} seconds`),
        ).toBe(totalMs);
        expect(waitIn(`try again in ${totalMs}ms`)).toBe(totalMs);
      }),
      { seed: 5 },
    );
  });

  it('is read back from every rendered instant, in seconds, milliseconds and RFC 3339', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 * 86_400 }), (seconds) => {
        const atMs = nowMs + seconds * 1_000;
        const values = [String(atMs), String(atMs / 1_000), new Date(atMs).toISOString()];

        for (const name of [
          'retry-after',
          'x-ratelimit-reset',
          'anthropic-ratelimit-tokens-reset',
        ]) {
          for (const value of values) {
            const header = headersOf({ [name]: value });

            expect(parseRetryAfter(header, nowMs) ?? parseNextReset(header, nowMs)).toBe(
              seconds * 1_000,
            );
          }
        }
      }),
      { seed: 5 },
    );
  });

  it('is read back from every time of day in every zone, as the next one', () => {
    const zones = Intl.supportedValuesOf('timeZone');

    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.date({ min: new Date('2025-01-01'), max: new Date('2028-12-31'), noInvalidDate: true }),
        fc.nat({ max: 23 }),
        fc.nat({ max: 59 }),
        (zone, at, hour, minute) => {
          const resetMs = nextInstantOf({ hour, minute }, zone, at.getTime()) ?? 0;

          expect(resetMs).toBeGreaterThan(at.getTime());
          expect(resetMs - at.getTime()).toBeLessThanOrEqual(26 * 3_600_000);
          const shown = new Intl.DateTimeFormat('en-GB', {
            timeZone: zone,
            hour: '2-digit',
            minute: '2-digit',
          });
          // The change to summer time skips an hour at most.
          expect([`${pad(hour)}:${pad(minute)}`, shown.format(resetMs)]).toSatisfy(isSameOrSkipped);
        },
      ),
      { seed: 5, numRuns: 300 },
    );
  });

  it('is that of the limit that is used up, and the latest of several', () => {
    const headers = {
      'x-ratelimit-remaining-requests': '499',
      'x-ratelimit-reset-requests': '120ms',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '42s',
    };

    expect(parseRetryAfter(headersOf(headers), nowMs)).toBe(42_000);
    const both = {
      ...headers,
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1m',
    };
    expect(parseRetryAfter(headersOf(both), nowMs)).toBe(60_000);
    expect(parseRetryAfter(headersOf({ ...both, 'retry-after': '3' }), nowMs)).toBe(3_000);
  });

  it('says nothing where headers only report limits of which something is left', () => {
    const headers = {
      'x-ratelimit-remaining-requests': '499',
      'x-ratelimit-reset-requests': '120ms',
      'x-ratelimit-remaining-tokens': '1000',
      'x-ratelimit-reset-tokens': '58s',
    };
    const header = headersOf(headers);
    const message = 'Limit 30000, Used 29000, Requested 11000. Please try again in 20s.';

    const { details } = mapHttpError({ status: 429, body: { error: { message } }, header }, 0, 0);

    expect(details.retryAfterMs).toBe(20_000);
    expect(parseRetryAfter(header, nowMs)).toBeUndefined();
    expect(parseNextReset(header, nowMs)).toBeUndefined();
  });

  it('is not that of a limit per minute where the credit is spent', () => {
    const body = { error: { message: 'no', code: 'insufficient_quota' } };
    const resetOf = (headers: Readonly<Record<string, string>>) =>
      mapHttpError({ status: 429, body, header: headersOf(headers) }, nowMs, 0).details.resetAt;

    expect(
      resetOf({ 'x-ratelimit-remaining-requests': '9999', 'x-ratelimit-reset-requests': '6ms' }),
    ).toBeUndefined();
    expect(resetOf({ 'anthropic-ratelimit-requests-reset': '2026-01-02T03:04:06Z' })).toBe(
      undefined,
    );
    expect(resetOf({ 'retry-after': '60' })).toBe('2026-01-02T03:05:05.000Z');
  });

  it('is read from the wait rather than from the instant, which depends on the clock', () => {
    const body = { error: { message: 'no', resets_at: 1777936568, resets_in_seconds: 120 } };

    const { details } = mapHttpError({ status: 429, body, header: () => null }, nowMs, 0);

    expect(details.retryAfterMs).toBe(120_000);
  });

  it.each([
    // Within hours of a change of the clocks.
    ['America/New_York', 3, 30, '2026-03-08T05:00:00Z', '2026-03-08T07:30:00Z'],
    ['America/New_York', 3, 30, '2026-11-01T04:00:00Z', '2026-11-01T08:30:00Z'],
    ['Australia/Lord_Howe', 2, 15, '2026-04-04T12:00:00Z', '2026-04-04T15:45:00Z'],
    ['Asia/Kathmandu', 0, 0, '2026-01-02T03:04:05Z', '2026-01-02T18:15:00Z'],
  ])('is the instant at which clocks in %s show %i:%i', (zone, hour, minute, now, resetAt) => {
    expect(nextInstantOf({ hour, minute }, zone, Date.parse(now))).toBe(Date.parse(resetAt));
  });

  it('of a day is midnight where the vendor says, in summer and winter', () => {
    expect(nextMidnight('America/Los_Angeles', nowMs)).toBe(Date.parse('2026-01-02T08:00:00Z'));
    expect(nextMidnight('America/Los_Angeles', Date.parse('2026-07-02T06:59:59Z'))).toBe(
      Date.parse('2026-07-02T07:00:00Z'),
    );
    expect(nextMidnight('UTC', nowMs)).toBe(Date.parse('2026-01-03T00:00:00Z'));
  });

  it('is never negative and never later than in 366 days, whatever a vendor sends', () => {
    const text = fc.oneof(
      fc.string(),
      fc.stringMatching(/^(try again in|resets|retry after) [0-9a-z.: ()/]{0,40}$/),
      fc.bigInt().map((value) => `retry in ${value}s`),
    );

    fc.assert(
      fc.property(text, (message) => {
        const waitMs = waitIn(message) ?? 0;

        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs).toBeLessThanOrEqual(366 * 86_400_000);
      }),
      { seed: 5, numRuns: 500 },
    );
  });

  it('decides whether a rate limit holds a lane or blocks it', () => {
    const codeFor = (ms: number) => {
      const body = { error: { message: `try again in ${ms}ms` } };
      return mapHttpError({ status: 429, body, header: () => null }, nowMs, 0).code;
    };

    expect(codeFor(MAX_HOLD_MS)).toBe('model-rate-limited');
    expect(codeFor(MAX_HOLD_MS + 1)).toBe('quota-exhausted');
  });
});

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

function isSameOrSkipped(pair: unknown): boolean {
  const [wanted = '', shown = ''] = pair as readonly string[];
  const minutes = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
  const gap = Math.abs(minutes(wanted) - minutes(shown));
  return wanted === shown || gap <= 60 || gap >= 23 * 60;
}
