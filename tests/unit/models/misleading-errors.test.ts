import { describe, expect, it } from 'vitest';
import { mapHttpError } from '../../../packages/models/src/vendors/map-http-error.ts';

const nowMs = Date.parse('2026-01-02T03:04:05.000Z');

function detailsOf(
  status: number | undefined,
  error: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): object {
  const header = (name: string) => headers[name] ?? null;
  const { code, details } = mapHttpError({ status, body: { error }, header }, nowMs, 0);
  const { breakerScope, retryAfterMs, resetAt } = details;
  return { code, breakerScope, retryAfterMs, resetAt };
}

// Put together from words that vendors use, against the reading that they invite.
describe('mapHttpError', () => {
  it.each([
    [
      403,
      'Your resource has been temporarily blocked because we detected behavior that may violate our content policy.',
    ],
    [403, 'Your account was flagged for potential abuse. Please contact us at help.openai.com'],
    [403, 'Access denied due to missing subscription key.'],
    [429, 'Your access was terminated due to violation of our policies.'],
  ])('reads an account that is shut out as misconfigured: %i %s', (status, message) => {
    expect(detailsOf(status, { message })).toMatchObject({
      code: 'auth-failed',
      breakerScope: 'lane',
    });
  });

  it.each([
    [
      'Rate limit exceeded. Add a payment method or top up to raise your rate limit.',
      'rate_limit_exceeded',
      {},
      undefined,
    ],
    ['Rate limit exceeded (spend limit tier 1: 60 RPM)', 'rate_limit_exceeded', {}, undefined],
    [
      'Too many requests. Please upgrade your subscription.',
      'burst',
      { 'retry-after': '20' },
      20_000,
    ],
    [
      'Too Many Requests: daily request budget is fine, burst of 10 exceeded',
      'burst',
      {},
      undefined,
    ],
    ['rate limited: unauthorized clients get 5 rpm', 'unauthorized', {}, undefined],
  ])(
    'reads a limit that ends by itself as one, whatever it advertises: %s',
    (message, code, headers, retryAfterMs) => {
      expect(detailsOf(429, { message, code }, headers)).toMatchObject({
        code: 'model-rate-limited',
        retryAfterMs,
      });
    },
  );

  it.each([
    [
      500,
      { message: 'internal disk quota exceeded on node 7', code: 'quota_exceeded' },
      'model-unavailable',
    ],
    [500, { message: 'the service for an insufficient balance is down' }, 'model-unavailable'],
    [500, { message: 'Upstream error: Insufficient credits. Add more' }, 'quota-exhausted'],
    [500, { message: 'insufficient balance (1008)', type: 'api_error' }, 'quota-exhausted'],
  ])('blocks no lane for what a server says about itself: %i %j', (status, error, code) => {
    expect(detailsOf(status, error)).toMatchObject({ code });
  });

  it('reads throttling that counts tokens as a rate limit', () => {
    const message =
      'An error occurred (ThrottlingException) when calling the ConverseStream operation: Too many tokens, please wait before trying again.';

    expect(detailsOf(undefined, { message })).toMatchObject({ code: 'model-rate-limited' });
  });

  it("blocks no more than the model where a day's limit is the model's", () => {
    const message = 'Rate limit reached for model `x` on tokens per day (TPD): Limit 100000.';

    expect(detailsOf(429, { message })).toMatchObject({
      code: 'quota-exhausted',
      breakerScope: 'model',
    });
  });

  it.each([
    [1000, 'model-unavailable'],
    [1001, 'model-timeout'],
    [1002, 'model-rate-limited'],
    [1004, 'auth-failed'],
    [1008, 'quota-exhausted'],
  ])('reads the code %i of MiniMax as %s', (status_code, code) => {
    const body = { choices: null, base_resp: { status_code, status_msg: 'no' } };

    expect(mapHttpError({ status: undefined, body, header: () => null }, 0, 0).code).toBe(code);
  });
});
