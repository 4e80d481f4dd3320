import { startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { readEvents } from './simulator-client.ts';

type Fields = Readonly<Record<string, unknown>>;

async function post(
  path: string,
  body: Fields,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly text: string; readonly body: Fields }> {
  await using simulator = await startSimulator();
  const response = await fetch(`${simulator.url}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  return { status: response.status, text, body: isJson ? (JSON.parse(text) as Fields) : {} };
}

const question = { model: 'm', messages: [{ role: 'user', content: 'Why?' }] };
const version = { 'anthropic-version': '2023-06-01' };

describe('the simulator refuses over Anthropic messages, as the vendor does,', () => {
  it.each<[string, Fields, Readonly<Record<string, string>>, string]>([
    ['no version', { ...question, max_tokens: 9 }, {}, 'anthropic-version: header is required'],
    ['no limit', question, version, 'max_tokens: Field required'],
    [
      'an unknown parameter',
      { ...question, max_tokens: 9, seed: 7 },
      version,
      'seed: Extra inputs are not permitted',
    ],
    [
      'a temperature in a version without it',
      { ...question, max_tokens: 9, temperature: 0 },
      { 'anthropic-version': '2026-10-21' },
      'temperature: Extra inputs are not permitted',
    ],
    [
      'a system message',
      { model: 'm', max_tokens: 9, messages: [{ role: 'system', content: 'Be brief.' }] },
      version,
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    ],
    ['no messages', { model: 'm', max_tokens: 9 }, version, 'messages: Field required'],
  ])('%s', async (_, body, headers, message) => {
    const { status, body: answer } = await post('/messages', body, headers);

    expect(status).toBe(400);
    expect(answer).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message },
      request_id: null,
    });
  });
});

describe('the simulator refuses over responses, as the vendor does,', () => {
  it.each<[string, Fields, string]>([
    ['an unknown parameter', { input: 'Why?', seed: 7 }, "Unknown parameter: 'seed'."],
    ['no input', {}, "Missing required parameter: 'input'."],
    [
      'background mode without a store',
      { input: 'Why?', background: true, store: false },
      'Background mode requires store to be true.',
    ],
  ])('%s', async (_, body, message) => {
    const { status, body: answer } = await post('/responses', { model: 'm', ...body });

    expect(status).toBe(400);
    expect(answer).toMatchObject({ error: { type: 'invalid_request_error', message } });
  });
});

describe('the simulator streams', () => {
  it('a message in named events', async () => {
    const { text } = await post('/messages', { ...question, max_tokens: 9, stream: true }, version);

    const types = readEvents(text).map((event) => /^event: (\w+)\n/.exec(event)?.[1]);
    expect(types).toEqual([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });

  it('a response that ends with all of it', async () => {
    const { text } = await post('/responses', { model: 'm', input: 'Why?', stream: true });

    const last = readEvents(text).at(-1) ?? '';
    expect(last).toMatch(/^event: response\.completed\n/);
    expect(last).toContain('"text":"The answer is 42."');
  });
});

describe('the simulator cuts an answer at the limit of its request', () => {
  it('over Anthropic messages', async () => {
    const { body } = await post('/messages', { ...question, max_tokens: 2 }, version);

    expect(body).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 2 } });
  });

  it('over responses', async () => {
    const { body } = await post('/responses', { model: 'm', input: 'Why?', max_output_tokens: 2 });

    expect(body).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      usage: { output_tokens: 2 },
    });
  });
});
