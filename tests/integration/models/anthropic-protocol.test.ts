import type { ModelRequest } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { anOutput, aUsage } from '../../support/builders.ts';
import { aMessage } from '../../support/protocol-bodies.ts';
import { sendOver } from '../../support/send-over.ts';

async function bodyOf(parts: Partial<ModelRequest>) {
  const { request } = await sendOver('anthropic', { body: aMessage([]) }, parts);
  return request?.body;
}

describe('what the anthropic protocol sends', () => {
  it('posts the messages apart from the system prompt, with the version and a limit', async () => {
    const { request } = await sendOver(
      'anthropic',
      { body: aMessage([]) },
      {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'system', content: 'Be kind.' },
          { role: 'user', content: 'Why?' },
        ],
      },
    );

    expect(request?.path).toBe('/v1/messages');
    expect(request?.headers['anthropic-version']).toBe('2023-06-01');
    expect(request?.body).toEqual({
      model: 'm',
      system: 'Be brief.\n\nBe kind.',
      messages: [{ role: 'user', content: 'Why?' }],
      max_tokens: 20_000,
      stream: false,
    });
  });

  it('sends the parameters under the names of the protocol, and the extra body last', async () => {
    const body = await bodyOf({
      temperature: 0,
      topP: 0.5,
      maxTokens: 64,
      stop: ['END'],
      serviceTier: 'standard_only',
      reasoningEffort: 'max',
      extraBody: {
        thinking: { type: 'adaptive' },
        max_tokens: 65,
        output_config: { format: null },
      },
    });

    expect(body).toMatchObject({
      temperature: 0,
      top_p: 0.5,
      max_tokens: 65,
      stop_sequences: ['END'],
      service_tier: 'standard_only',
      output_config: { effort: 'max', format: null },
      thinking: { type: 'adaptive' },
    });
  });

  it('sends images as bytes and as addresses', async () => {
    const body = await bodyOf({
      messages: [
        {
          role: 'user',
          content: [
            { kind: 'text', text: 'What is it?' },
            { kind: 'image', url: 'data:image/png;base64,iVBORw0KGgo=' },
            { kind: 'image', url: 'https://example.org/a.png' },
          ],
        },
      ],
    });

    expect(body?.['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          {
            type: 'image',
            source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
          },
          { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
        ],
      },
    ]);
  });

  it('refuses an image in a message of the model', async () => {
    const content = [{ kind: 'image', url: 'https://example.org/a.png' }] as const;

    const sent = bodyOf({ messages: [{ role: 'assistant', content }] });

    await expect(sent).rejects.toMatchObject({ code: 'invalid-request' });
  });

  it('sends tools, calls, and the results of a turn in one message', async () => {
    const body = await bodyOf({
      tools: [{ name: 'add', description: 'Adds.', parameters: { type: 'object' } }],
      messages: [
        { role: 'user', content: '1 + 1?' },
        {
          role: 'assistant',
          content: '',
          toolCalls: [
            { id: 'c1', name: 'add', arguments: '{"a":1}' },
            { id: 'c2', name: 'add', arguments: 'one' },
          ],
        },
        { role: 'tool', toolCallId: 'c1', content: '2' },
        { role: 'tool', toolCallId: 'c2', content: 'no' },
      ],
    });

    expect(body?.['tools']).toEqual([
      { name: 'add', description: 'Adds.', input_schema: { type: 'object' } },
    ]);
    expect(body?.['messages']).toEqual([
      { role: 'user', content: '1 + 1?' },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'c1', name: 'add', input: { a: 1 } },
          { type: 'tool_use', id: 'c2', name: 'add', input: { arguments: 'one' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: '2' },
          { type: 'tool_result', tool_use_id: 'c2', content: 'no' },
        ],
      },
    ]);
  });
});

const toolUse = { type: 'tool_use', id: 'toolu_1', name: 'add', input: { a: 1 } };

// The shapes are those of the types of `@anthropic-ai/sdk` 1.12.0 (`resources/messages/messages.d.ts`, 2026-11-20).
describe('how the anthropic protocol reads a message', () => {
  it('returns the text, the thinking and the calls', async () => {
    const body = aMessage(
      [
        { type: 'thinking', thinking: 'hm', signature: 'EqQBCgIYAhIM' },
        { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' },
        { type: 'text', text: '4', citations: null },
        { type: 'text', text: '2' },
        toolUse,
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
      ],
      { stop_reason: 'tool_use' },
    );

    const { response } = await sendOver('anthropic', { body });

    expect(response.output).toEqual(
      anOutput({
        text: '42',
        reasoning: 'hm',
        toolCalls: [{ id: 'toolu_1', name: 'add', arguments: '{"a":1}' }],
      }),
    );
    expect(response).toMatchObject({ finishReason: 'tool-calls', raw: body, fault: undefined });
  });

  // https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons (2026-11)
  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['tool_use', 'tool-calls'],
    ['pause_turn', 'other'],
    ['refusal', 'content-filter'],
  ])('reads the stop reason %s as %s', async (reason, finishReason) => {
    const body = aMessage([{ type: 'text', text: '4' }], { stop_reason: reason });

    const { response } = await sendOver('anthropic', { body });

    expect(response).toMatchObject({ finishReason, rawFinishReason: reason, fault: undefined });
  });

  it.each([
    ['end_turn', ''],
    ['refusal', null],
    ['max_tokens', null],
  ])('reads a message of %s without content as the text %j', async (reason, text) => {
    const { response } = await sendOver('anthropic', {
      body: aMessage([], { stop_reason: reason }),
    });

    expect(response.output.text).toBe(text);
    expect(response.fault).toBeUndefined();
  });

  it('returns why the safety classifiers stopped the model', async () => {
    const stop_details = { type: 'refusal', category: 'bio', explanation: 'Dangerous methods.' };

    const { response } = await sendOver('anthropic', {
      body: aMessage([], { stop_reason: 'refusal', stop_details }),
    });

    expect(response.output.refusal).toBe('Dangerous methods.');
  });

  // "Total input tokens in a request is the summation of `input_tokens`, `cache_creation_input_tokens`, and
  // `cache_read_input_tokens`": the types of `@anthropic-ai/sdk` 1.12.0.
  it.each([
    [
      {
        input_tokens: 50,
        cache_creation_input_tokens: 248,
        cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
        cache_read_input_tokens: 1_800,
        service_tier: 'standard',
        speed: 'standard',
        inference_geo: 'global',
        output_tokens: 503,
        output_tokens_details: { thinking_tokens: 400 },
      },
      {
        inputTokens: 2_098,
        cachedInputTokens: 1_800,
        cacheWriteTokens: 248,
        longCacheWriteTokens: 100,
        outputTokens: 503,
        reasoningTokens: 400,
        serviceTier: 'standard',
      },
    ],
    [
      {
        input_tokens: 50,
        cache_creation_input_tokens: null,
        cache_read_input_tokens: null,
        output_tokens: 3,
        output_tokens_details: null,
      },
      aUsage({ inputTokens: 50, outputTokens: 3 }),
    ],
    [
      {
        input_tokens: 5,
        output_tokens: 3,
        service_tier: 'priority',
        speed: 'fast',
        inference_geo: 'us',
      },
      aUsage({ inputTokens: 5, outputTokens: 3, serviceTier: 'priority fast us' }),
    ],
    [{ output_tokens: 3 }, aUsage({ inputTokens: null, outputTokens: 3 })],
  ])('counts cached input as input: %j', async (usage, expected) => {
    const { response } = await sendOver('anthropic', { body: aMessage([], { usage }) });

    expect(response.usage).toEqual(expected);
  });
});

const start = {
  type: 'message_start',
  message: aMessage([], {
    stop_reason: null,
    usage: { input_tokens: 25, cache_read_input_tokens: 0, output_tokens: 1 },
  }),
};
const block = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
});
const delta = (index: number, fields: object) => ({
  type: 'content_block_delta',
  index,
  delta: fields,
});
const stop = {
  type: 'message_delta',
  delta: { stop_reason: 'end_turn', stop_sequence: null },
  usage: { input_tokens: null, output_tokens: 15 },
};

// https://platform.claude.com/docs/en/build-with-claude/streaming (2026-11)
describe('how the anthropic protocol reads a stream', () => {
  it('assembles thinking, text and calls, and passes over pings and unknown events', async () => {
    const events = [
      start,
      block(0, { type: 'thinking', thinking: '', signature: '' }),
      { type: 'ping' },
      delta(0, { type: 'thinking_delta', thinking: 'h' }),
      delta(0, { type: 'thinking_delta', thinking: 'm' }),
      delta(0, { type: 'signature_delta', signature: 'EqQB' }),
      { type: 'content_block_stop', index: 0 },
      block(1, { type: 'text', text: '' }),
      delta(1, { type: 'text_delta', text: '4' }),
      delta(1, { type: 'text_delta', text: '2' }),
      { type: 'new_event', value: 7 },
      block(2, { type: 'tool_use', id: 'toolu_1', name: 'add', input: {} }),
      delta(2, { type: 'input_json_delta', partial_json: '' }),
      delta(2, { type: 'input_json_delta', partial_json: '{"a":' }),
      delta(2, { type: 'input_json_delta', partial_json: ' 1}' }),
      stop,
      { type: 'message_stop' },
    ];

    const { response } = await sendOver('anthropic', { events });

    expect(response).toMatchObject({
      output: anOutput({
        text: '42',
        reasoning: 'hm',
        toolCalls: [{ id: 'toolu_1', name: 'add', arguments: '{"a":1}' }],
      }),
      finishReason: 'stop',
      usage: { inputTokens: 25, cachedInputTokens: 0, outputTokens: 15 },
      ttftMs: expect.any(Number) as number,
      fault: undefined,
    });
    expect(response.raw).toMatchObject({
      content: [{ type: 'thinking', thinking: 'hm', signature: 'EqQB' }, {}, toolUse],
    });
  });

  it('is complete without its last event', async () => {
    const { response } = await sendOver('anthropic', { events: [start, stop] });

    expect(response.fault).toBeUndefined();
    expect(response.output.text).toBe('');
  });

  it('keeps the text and the tokens of a stream that ends before the message does', async () => {
    const events = [start, delta(0, { type: 'text_delta', text: '4' })];

    const { response } = await sendOver('anthropic', { events });

    expect(response.fault).toMatchObject({ code: 'truncated-response' });
    expect(response).toMatchObject({ output: { text: '4' }, usage: { inputTokens: 25 } });
  });

  it('returns the error event that ends a stream as the fault', async () => {
    const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };

    const { response } = await sendOver('anthropic', { events: [start, error] });

    expect(response.fault).toMatchObject({ code: 'model-unavailable' });
    expect(response.usage.inputTokens).toBe(25);
  });
});
