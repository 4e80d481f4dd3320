import { mapHttpError } from '@thrice/models';
import { describe, expect, it } from 'vitest';

type Refusal = Parameters<typeof mapHttpError>[0];

const nowMs = Date.parse('2026-01-02T03:04:05.000Z');

function aRefusal(
  parts: Partial<Omit<Refusal, 'header'>> & { readonly headers?: Record<string, string> } = {},
): Refusal {
  const { headers = {}, ...rest } = parts;
  return {
    status: 400,
    codes: [],
    message: 'no',
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
    [405, 'invalid-request'],
    [408, 'model-timeout'],
    [409, 'model-unavailable'],
    [413, 'context-too-long'],
    [422, 'invalid-request'],
    [429, 'model-rate-limited'],
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
    const asCode = mapHttpError(aRefusal({ status, codes: [word, ''] }), nowMs, 0);
    const asType = mapHttpError(aRefusal({ status, codes: ['', word] }), nowMs, 0);

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
    [404, 'Not Found', 'endpoint-unreachable'],
    [404, 'no remodelled route', 'endpoint-unreachable'],
    [400, "This model's maximum context length is 8192 tokens.", 'context-too-long'],
    [400, 'prompt is too long: 250000 tokens > 200000 maximum', 'context-too-long'],
    [422, 'exceeds the context window', 'context-too-long'],
    [400, 'temperature must be at most 1', 'invalid-request'],
  ])('maps %s by its text where status and code are ambiguous: %s', (status, message, code) => {
    expect(mapHttpError(aRefusal({ status, message }), nowMs, 0).code).toBe(code);
  });

  it('keeps status, latency and text', () => {
    const error = mapHttpError(aRefusal({ status: 503, message: 'Busy' }), nowMs, 12);

    expect(error).toMatchObject({ class: 'transient', message: '503 Busy' });
    expect(error.details).toEqual({ status: 503, latencyMs: 12, retryAfterMs: undefined });
  });

  it('omits the status if there is none', () => {
    const error = mapHttpError(aRefusal({ status: undefined, message: 'Busy' }), nowMs, 0);

    expect(error.message).toBe('Busy');
    expect(error.details.status).toBeUndefined();
  });

  it.each([
    [{ 'retry-after': '3' }, 3_000],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after-ms': '250', 'retry-after': '3' }, 250],
    [{ 'retry-after': 'Fri, 02 Jan 2026 03:04:35 GMT' }, 30_000],
    [{ 'x-ratelimit-reset-requests': '6m0s' }, 360_000],
    [{}, undefined],
  ])('reads the wait of a rate limit with %j', (headers, retryAfterMs) => {
    const error = mapHttpError(aRefusal({ status: 429, headers }), nowMs, 0);

    expect(error.details.retryAfterMs).toBe(retryAfterMs);
    expect(error.details.resetAt).toBeUndefined();
  });

  it.each([
    [{ 'retry-after': '60' }, '2026-01-02T03:05:05.000Z'],
    [{ 'x-ratelimit-reset-requests': '30s' }, '2026-01-02T03:04:35.000Z'],
    [{ 'retry-after': '9'.repeat(20) }, undefined],
    [{}, undefined],
  ])('reads the reset time of a quota with %j', (headers, resetAt) => {
    const error = mapHttpError(aRefusal({ status: 402, headers }), nowMs, 0);

    expect(error.details.resetAt).toBe(resetAt);
    expect(error.details.retryAfterMs).toBeUndefined();
  });
});
