import { describe, expect, it } from 'vitest';
import { mapHttpError } from '../../../packages/models/src/vendors/map-http-error.ts';

type Refusal = Parameters<typeof mapHttpError>[0];

const nowMs = Date.parse('2026-01-02T03:04:05.000Z');

function aRefusal(
  parts: Partial<Omit<Refusal, 'header'>> & { readonly headers?: Record<string, string> } = {},
): Refusal {
  const { headers = {}, ...rest } = parts;
  return {
    status: 400,
    body: { error: { message: 'no' } },
    header: (name) => headers[name] ?? null,
    ...rest,
  };
}

describe('mapHttpError', () => {
  it.each([
    [400, 'invalid-request'],
    [401, 'auth-failed'],
    [402, 'quota-exhausted'],
    [403, 'auth-failed'],
    [404, 'endpoint-unreachable'],
    [405, 'endpoint-unreachable'],
    [408, 'model-timeout'],
    [407, 'auth-failed'],
    [409, 'model-unavailable'],
    [410, 'unknown-model'],
    [413, 'context-too-long'],
    [422, 'invalid-request'],
    [425, 'model-unavailable'],
    [429, 'model-rate-limited'],
    [498, 'model-unavailable'],
    [500, 'model-unavailable'],
    [502, 'model-unavailable'],
    [503, 'model-unavailable'],
    [504, 'model-timeout'],
    [529, 'model-unavailable'],
    [307, 'unclassified'],
    [undefined, 'unclassified'],
  ])('maps a bare %s to %s', (status, code) => {
    expect(mapHttpError(aRefusal({ status }), nowMs, 0).code).toBe(code);
  });

  it.each([
    [429, 'insufficient_quota', 'quota-exhausted'],
    [403, 'insufficient_quota', 'quota-exhausted'],
    [429, 'quota_exceeded', 'quota-exhausted'],
    [400, 'billing_hard_limit_reached', 'quota-exhausted'],
    [429, 'billing_not_active', 'quota-exhausted'],
    [400, 'insufficient_balance', 'quota-exhausted'],
    [429, 'credits_exhausted', 'quota-exhausted'],
    [403, 'exceeded_current_quota_error', 'quota-exhausted'],
    [429, 'rate_limit_exceeded', 'model-rate-limited'],
    [400, 'invalid_api_key', 'auth-failed'],
    [400, 'authentication_error', 'auth-failed'],
    [404, 'model_not_found', 'unknown-model'],
    [400, 'invalid_model', 'unknown-model'],
    [404, 'unknown_url', 'endpoint-unreachable'],
    [400, 'context_length_exceeded', 'context-too-long'],
    [400, 'string_above_max_length', 'context-too-long'],
    [400, 'request_too_large', 'context-too-long'],
    [400, 'content_filter', 'content-filtered'],
    [400, 'content_policy_violation', 'content-filtered'],
    [529, 'overloaded_error', 'model-unavailable'],
    [undefined, 'insufficient_quota', 'quota-exhausted'],
    [undefined, 'rate_limit_exceeded', 'model-rate-limited'],
    [undefined, 'rate_limit_error', 'model-rate-limited'],
    [undefined, 'overloaded_error', 'model-unavailable'],
    [undefined, 'server_error', 'model-unavailable'],
    [undefined, 'model_not_found', 'unknown-model'],
    [undefined, 'invalid_api_key', 'auth-failed'],
    [undefined, 'something_new', 'unclassified'],
  ])('maps %s with the code or type %s to %s', (status, word, code) => {
    const error = { message: 'no' };
    const asCode = mapHttpError(
      aRefusal({ status, body: { error: { ...error, code: word } } }),
      nowMs,
      0,
    );
    const asType = mapHttpError(
      aRefusal({ status, body: { error: { ...error, type: word } } }),
      nowMs,
      0,
    );

    expect([asCode.code, asType.code]).toEqual([code, code]);
  });

  it.each([
    [429, 'You exceeded your current quota, please check your plan.', 'quota-exhausted'],
    [429, 'Rate limit reached for requests', 'model-rate-limited'],
    [400, 'Your credit balance is too low to access the Anthropic API.', 'quota-exhausted'],
    [403, 'Insufficient credits. Add more to go on.', 'quota-exhausted'],
    [undefined, 'Insufficient Balance', 'quota-exhausted'],
    [500, 'the credit balance service is down', 'model-unavailable'],
    [404, 'The model `gpt-9` does not exist', 'unknown-model'],
    [403, 'Please recharge: the balance of this key is gone.', 'quota-exhausted'],
    [403, 'Your quota ended.', 'quota-exhausted'],
    [403, 'That model is for partners.', 'unknown-model'],
    [403, 'Your text was flagged.', 'content-filtered'],
    [403, 'Who are you?', 'auth-failed'],
    [429, 'Too fast; see your subscription. Try again in 2s.', 'model-rate-limited'],
    [429, 'Too fast for your subscription.', 'quota-exhausted'],
    [429, 'Rate limit exceeded: free-models-per-min. Add credits.', 'model-rate-limited'],
    [404, 'Not Found', 'endpoint-unreachable'],
    [404, 'no remodelled route', 'endpoint-unreachable'],
    [405, 'Not Allowed', 'endpoint-unreachable'],
    [400, "This model's maximum context length is 8192 tokens.", 'context-too-long'],
    [400, 'prompt is too long: 250000 tokens > 200000 maximum', 'context-too-long'],
    [422, 'exceeds the context window', 'context-too-long'],
    [400, 'temperature must be at most 1', 'invalid-request'],
  ])('maps %s by its text where status and code are ambiguous: %s', (status, message, code) => {
    expect(mapHttpError(aRefusal({ status, body: { message } }), nowMs, 0).code).toBe(code);
  });

  it('keeps status, latency and text', () => {
    const error = mapHttpError(aRefusal({ status: 503, body: 'Busy' }), nowMs, 12);

    expect(error).toMatchObject({ class: 'transient', message: '503 Busy' });
    expect(error.details).toEqual({ status: 503, latencyMs: 12 });
  });

  it('omits the status if there is none', () => {
    const error = mapHttpError(aRefusal({ status: undefined, body: 'Busy' }), nowMs, 0);

    expect(error.message).toBe('Busy');
    expect(error.details.status).toBeUndefined();
  });

  it.each([
    [{ 'retry-after': '3' }, 3_000],
    [{ 'retry-after': '0' }, undefined],
    [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, undefined],
    [{ 'retry-after': '0', 'x-ratelimit-reset-requests': '2s' }, 2_000],
    [{ 'x-ratelimit-remaining': '-1', 'x-ratelimit-reset': '60' }, 60_000],
    [{ 'retry-after-ms': '250', 'retry-after': '3' }, 250],
    [{ 'retry-after': 'Fri, 02 Jan 2026 03:04:35 GMT' }, 30_000],
    [{ 'x-ratelimit-reset-requests': '4m59s' }, 299_000],
    [{ 'retry-after': '300' }, 300_000],
    [{}, undefined],
  ])('reads the wait of a rate limit with %j', (headers, retryAfterMs) => {
    const error = mapHttpError(aRefusal({ status: 429, headers }), nowMs, 0);

    expect(error.details.retryAfterMs).toBe(retryAfterMs);
    expect(error.details.resetAt).toBeUndefined();
  });

  it.each([
    [{ 'retry-after': '60' }, '2026-01-02T03:05:05.000Z'],
    [
      { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '30s' },
      '2026-01-02T03:04:35.000Z',
    ],
    [{ 'x-ratelimit-reset-requests': '30s' }, undefined],
    [{ 'retry-after': '9'.repeat(20) }, undefined],
    [{}, undefined],
  ])('reads the reset time of a quota with %j', (headers, resetAt) => {
    const error = mapHttpError(aRefusal({ status: 402, headers }), nowMs, 0);

    expect(error.details.resetAt).toBe(resetAt);
    expect(error.details.retryAfterMs).toBeUndefined();
  });

  it.each([
    [{ 'retry-after': '301' }, '2026-01-02T03:09:06.000Z'],
    [{ 'x-ratelimit-reset-requests': '6m0s' }, '2026-01-02T03:10:05.000Z'],
    [{ 'retry-after': '86400' }, '2026-01-03T03:04:05.000Z'],
  ])(
    'takes a rate limit of more than five minutes as an exhausted quota with %j',
    (headers, resetAt) => {
      const error = mapHttpError(aRefusal({ status: 429, headers }), nowMs, 0);

      expect(error.code).toBe('quota-exhausted');
      expect(error.details).toMatchObject({ resetAt, breakerScope: 'lane' });
    },
  );

  it.each([400, 401, 404])(
    'keeps no wait of a %i, whatever limits the response reports',
    (status) => {
      const headers = { 'x-ratelimit-reset-requests': '30s' };

      const { details } = mapHttpError(aRefusal({ status, headers }), nowMs, 0);

      expect(details).not.toHaveProperty('retryAfterMs');
      expect(details).not.toHaveProperty('resetAt');
    },
  );

  it.each([
    [{ error: { message: 'out of credit', code: 'insufficient_quota' } }, 'lane'],
    [
      { error: { message: 'x', details: [{ quotaId: 'RequestsPerDayPerProjectPerModel' }] } },
      'model',
    ],
    [{ error: { message: 'x', details: [{ quotaId: 'RequestsPerDayPerProject' }] } }, 'lane'],
  ])('names whose breaker an exhausted quota opens: %j', (body, breakerScope) => {
    const { code, details } = mapHttpError(aRefusal({ status: 429, body }), nowMs, 0);

    expect(code).toBe('quota-exhausted');
    expect(details.breakerScope).toBe(breakerScope);
  });

  it('decides by nothing that the vendor only repeats', () => {
    const echo = 'insufficient quota: the context length is exceeded';
    const body = {
      detail: [{ type: 'missing', loc: ['body'], msg: 'Field required', input: { message: echo } }],
    };

    expect(mapHttpError(aRefusal({ status: 422, body }), nowMs, 0).code).toBe('invalid-request');
  });

  it('shows what a gateway passes on instead of that it passes something on', () => {
    const raw = '{"error":{"message":"one image at most"}}';
    const body = { error: { message: 'Provider returned error', metadata: { raw } } };

    expect(mapHttpError(aRefusal({ body }), nowMs, 0).message).toBe('400 one image at most');
  });

  it('shows the title of a web page', () => {
    const body = '<html><head><title>502 Bad\n Gateway</title></head><body>nginx</body></html>';

    expect(mapHttpError(aRefusal({ status: 502, body }), nowMs, 0).message).toBe(
      '502 502 Bad Gateway',
    );
  });

  it('reads a hostile body of a million characters in linear time', () => {
    const bodies = [
      'a'.repeat(1_000_000),
      '{'.repeat(1_000_000),
      `<html>${'<title>'.repeat(140_000)}`,
      `try again in ${'1h '.repeat(300_000)}`,
      { error: { message: `model ${'not '.repeat(250_000)}` } },
      { error: { message: '{"error":'.repeat(110_000) } },
      Array.from({ length: 100_000 }, () => ({ error: { message: 'x', code: 'y' } })),
    ];

    for (const body of bodies) {
      expect(mapHttpError(aRefusal({ body }), nowMs, 0).code).toBe('invalid-request');
    }
  });
});
