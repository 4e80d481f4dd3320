import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  parseDuration,
  parseRetryAfter,
} from '../../../packages/models/src/vendors/parse-reset.ts';

const nowMs = Date.parse('2026-01-02T03:04:05.000Z');

function headersOf(headers: Readonly<Record<string, string>>): (name: string) => string | null {
  return (name) => headers[name] ?? null;
}

describe('parseDuration', () => {
  it.each([
    ['1s', 1_000],
    ['6m0s', 360_000],
    ['250ms', 250],
    ['1h2m3s4ms', 3_723_004],
    ['1d', 86_400_000],
    ['1.5s', 1_500],
    ['7', 7_000],
    ['0', 0],
    ['0s', 0],
  ])('reads %s as %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([null, '', 's', '-1s', '1 s', '1s soon', '1w', '1e3s', 'soon', '1.s', 'NaN'])(
    'returns undefined for %s',
    (text) => {
      expect(parseDuration(text)).toBeUndefined();
    },
  );

  it('parses every formatted duration back to its value', () => {
    fc.assert(
      fc.property(fc.nat({ max: 100 }), fc.nat({ max: 86_399_999 }), (days, rest) => {
        const ms = days * 86_400_000 + rest;
        const parts: readonly (readonly [number, string])[] = [
          [days, 'd'],
          [Math.floor(rest / 3_600_000), 'h'],
          [Math.floor(rest / 60_000) % 60, 'm'],
          [Math.floor(rest / 1_000) % 60, 's'],
          [rest % 1_000, 'ms'],
        ];
        const full = parts.map(([count, unit]) => `${count}${unit}`).join('');
        const short = parts
          .filter(([count]) => count > 0)
          .map(([count, unit]) => `${count}${unit}`)
          .join('');

        expect(parseDuration(full)).toBe(ms);
        expect(parseDuration(`${ms}ms`)).toBe(ms);
        expect(parseDuration(short)).toBe(ms === 0 ? undefined : ms);
      }),
      { seed: 3 },
    );
  });
});

describe('parseRetryAfter', () => {
  it('parses seconds, milliseconds and dates back to their values', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 * 86_400 }), (seconds) => {
        const date = new Date(nowMs + seconds * 1_000).toUTCString();

        expect(parseRetryAfter(headersOf({ 'retry-after': String(seconds) }), nowMs)).toBe(
          seconds * 1_000,
        );
        expect(parseRetryAfter(headersOf({ 'retry-after-ms': String(seconds) }), nowMs)).toBe(
          seconds,
        );
        expect(parseRetryAfter(headersOf({ 'retry-after': date }), nowMs)).toBe(seconds * 1_000);
      }),
      { seed: 3 },
    );
  });

  it('returns no wait or one of 0 to 366 days for any headers', () => {
    const text = fc.oneof(
      fc.string(),
      fc.float().map(String),
      fc.bigInt().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      fc.stringMatching(/^[0-9.]{0,40}[smhd ]?$/),
    );

    fc.assert(
      fc.property(text, text, text, (inMs, after, reset) => {
        const headers = {
          'retry-after-ms': inMs,
          'retry-after': after,
          'x-ratelimit-reset-requests': reset,
        };

        const waitMs = parseRetryAfter(headersOf(headers), nowMs) ?? 0;

        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs).toBeLessThanOrEqual(366 * 86_400_000);
      }),
      { seed: 3, numRuns: 500 },
    );
  });

  it.each([
    ['Fri, 02 Jan 2026 03:04:35 GMT', 30_000],
    ['Friday, 02-Jan-26 03:04:35 GMT', 30_000],
    ['2026-01-02T03:04:35Z', 30_000],
    ['2026-01-02T03:04:35', 30_000],
    ['2026-01-02 03:04:35', 30_000],
    ['2026-01-02T05:04:35+02:00', 30_000],
    ['Fri, 02 Jan 2026 03:04:35', 30_000],
    ['Fri Jan  2 03:04:35 2026', 30_000],
    ['1.5', 1_500],
  ])('reads %s as %i ms', (text, waitMs) => {
    expect(parseRetryAfter(headersOf({ 'retry-after': text }), nowMs)).toBe(waitMs);
  });

  it.each([
    '',
    '0',
    'Thu, 01 Jan 2026 00:00:00 GMT',
    '-5',
    'soon',
    'in 5 minutes',
    '5 seconds',
    'Fri',
    '1e3',
    '9'.repeat(20),
  ])('returns undefined for %j', (text) => {
    expect(parseRetryAfter(headersOf({ 'retry-after': text }), nowMs)).toBeUndefined();
  });

  it('falls back to the next header when one is unreadable', () => {
    const headers = {
      'retry-after-ms': 'x',
      'retry-after': 'soon',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '2s',
    };

    expect(parseRetryAfter(headersOf(headers), nowMs)).toBe(2_000);
  });
});
