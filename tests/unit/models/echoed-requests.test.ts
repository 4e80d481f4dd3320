import { describe, expect, it } from 'vitest';
import { readCompletion } from '../../../packages/models/src/chat/read-completion.ts';
import { mapHttpError } from '../../../packages/models/src/vendors/map-http-error.ts';
import { readError } from '../../../packages/models/src/vendors/read-error.ts';
import { aLane } from '../../support/builders.ts';

function codeOf(status: number, body: unknown): string {
  return mapHttpError({ status, body, header: () => null }, 0, 0).code;
}

describe('an error that repeats the request', () => {
  it.each([
    // vLLM's form: https://github.com/openguardrails/AgentTrustBench/issues/10. The prompts are made up.
    [
      400,
      "[{'type': 'missing', 'loc': ('body', 'messages', 0), 'msg': 'Field required', 'input': {'text': 'My invoice says insufficient balance'}}]",
      'invalid-request',
    ],
    [
      400,
      "[{'type': 'missing', 'msg': 'Field required', 'input': {'text': 'insufficient balance, it sa",
      'invalid-request',
    ],
    [
      400,
      "litellm.BadRequestError: Invalid Message passed in {'role': 'user', 'content': 'billing hard limit reached'}",
      'invalid-request',
    ],
    [
      400,
      "Invalid value: 'you exceeded your current quota'. Supported values are: 'low', 'high'.",
      'invalid-request',
    ],
    [
      422,
      'Could not parse tool call arguments: {"message": "Your account has been disabled"}',
      'invalid-request',
    ],
    [
      400,
      "Failed to parse input at pos 12: how do I fix 'Incorrect API key provided'?",
      'invalid-request',
    ],
    [400, 'Failed to parse input at pos 0: the file was not found by the model', 'invalid-request'],
    [500, 'Failed to parse input: the model says: user not found', 'model-unavailable'],
    [500, 'Failed to parse: he reached the set inference limit', 'model-unavailable'],
    [
      400,
      "1 validation error: input_value='Insufficient credits', input_type=str",
      'invalid-request',
    ],
  ])('is decided by what the vendor says itself: %i %s', (status, message, code) => {
    expect(codeOf(status, { error: { message } })).toBe(code);
  });

  it.each([
    [400, "Error code: 429 - {'error': {'message': 'no', 'code': 'insufficient_quota'}}"],
    [400, "{'error': {'message': 'Insufficient Balance', 'param': None, 'ok': False, 'n': -1.5}}"],
    [429, "openai.RateLimitError: [{'error': {'code': 'insufficient_quota', 'details': ("],
    [429, 'upstream said {"error":{"message":"You exceeded your current quota", "de'],
  ])('is still read where a proxy passes another error on: %i %s', (status, message) => {
    expect(codeOf(status, { error: { message } })).toBe('quota-exhausted');
  });

  it('shows people the whole text', () => {
    const message = "Invalid value: 'you exceeded your current quota'.";

    expect(readError({ error: { message } })).toMatchObject({
      message,
      text: 'Invalid value: "".',
    });
  });

  it('keeps quoted names of models and of quotas', () => {
    const texts = [
      "The model 'gpt-9' doesn't exist, or you don't have access",
      "Quota exceeded for limit 'Requests per day per user'",
    ];

    expect(texts.map((message) => readError({ message }).text)).toEqual(texts);
  });

  it('takes linear time, however many quotes and braces it has', () => {
    const filled = (piece: string) => piece.repeat(200_000 / piece.length);
    const pieces = ["{'a':", "[('", "'a ", "a'", '“', '` ', '"\n', '\\', '{"a', "passed in '"];

    for (const piece of pieces) {
      const body = Array.from({ length: 20 }, (_, index) => `${index} ${filled(piece)}`);

      expect(codeOf(400, { error: body })).toBe('invalid-request');
      expect(codeOf(400, { error: `{'${filled(piece)}` })).toBe('invalid-request');
    }
  });
});

describe('an empty error beside an answer', () => {
  it.each([{}, { code: 0, message: '' }, { code: null, details: [] }])('is none: %j', (error) => {
    const completion = {
      choices: [{ message: { role: 'assistant', content: '42' }, finish_reason: 'stop' }],
      error,
    };

    const { output, problem } = readCompletion(completion, { lane: aLane(), nowMs: 0 });

    expect(problem).toBeUndefined();
    expect(output.text).toBe('42');
  });
});
