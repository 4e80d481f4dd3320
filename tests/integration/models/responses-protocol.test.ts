import type { ModelRequest } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { anOutput } from '../../support/builders.ts';
import { aMessageItem, aResponse } from '../../support/protocol-bodies.ts';
import { sendOver } from '../../support/send-over.ts';

async function bodyOf(parts: Partial<ModelRequest>) {
  const { request } = await sendOver('responses', { body: aResponse([]) }, parts);
  return request?.body;
}

describe('what the responses protocol sends', () => {
  it('posts the messages as input items, and lets the vendor store nothing', async () => {
    const { request } = await sendOver(
      'responses',
      { body: aResponse([]) },
      {
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Why?' },
        ],
      },
    );

    expect(request?.path).toBe('/v1/responses');
    expect(request?.body).toEqual({
      model: 'm',
      input: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Why?' },
      ],
      store: false,
      stream: false,
    });
  });

  it('sends the parameters under the names of the protocol, and the extra body last', async () => {
    const body = await bodyOf({
      temperature: 0,
      topP: 0.5,
      maxTokens: 64,
      serviceTier: 'flex',
      reasoningEffort: 'xhigh',
      extraBody: { store: true, reasoning: { summary: 'auto' } },
    });

    expect(body).toMatchObject({
      temperature: 0,
      top_p: 0.5,
      max_output_tokens: 64,
      service_tier: 'flex',
      reasoning: { effort: 'xhigh', summary: 'auto' },
      store: true,
    });
  });

  it('sends images of users and tools', async () => {
    const image = { kind: 'image', url: 'data:image/png;base64,iVBORw0KGgo=' } as const;

    const body = await bodyOf({
      messages: [
        { role: 'user', content: [{ kind: 'text', text: 'What is it?' }, image] },
        { role: 'tool', toolCallId: 'c1', content: [image] },
      ],
    });

    const part = { type: 'input_image', image_url: image.url, detail: 'auto' };
    expect(body?.['input']).toEqual([
      { role: 'user', content: [{ type: 'input_text', text: 'What is it?' }, part] },
      { type: 'function_call_output', call_id: 'c1', output: [part] },
    ]);
  });

  it('refuses an image in a message of the model', async () => {
    const content = [{ kind: 'image', url: 'https://example.org/a.png' }] as const;

    const sent = bodyOf({ messages: [{ role: 'assistant', content }] });

    await expect(sent).rejects.toMatchObject({ code: 'invalid-request' });
  });

  it('sends tools, calls and their results', async () => {
    const body = await bodyOf({
      tools: [{ name: 'add', description: 'Adds.', parameters: { type: 'object' } }],
      messages: [
        { role: 'user', content: '1 + 1?' },
        {
          role: 'assistant',
          content: '',
          toolCalls: [{ id: 'c1', name: 'add', arguments: '{"a":1}' }],
        },
        { role: 'tool', toolCallId: 'c1', content: '2' },
      ],
    });

    expect(body?.['tools']).toEqual([
      {
        type: 'function',
        name: 'add',
        description: 'Adds.',
        parameters: { type: 'object' },
        strict: false,
      },
    ]);
    expect(body?.['input']).toEqual([
      { role: 'user', content: '1 + 1?' },
      { type: 'function_call', call_id: 'c1', name: 'add', arguments: '{"a":1}' },
      { type: 'function_call_output', call_id: 'c1', output: '2' },
    ]);
  });
});

const reasoningItem = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [
    { type: 'summary_text', text: 'First.' },
    { type: 'summary_text', text: 'Second.' },
  ],
};
const call = { type: 'function_call', call_id: 'c1', name: 'add', arguments: '{"a":1}' };

// The shapes are those of the types of the `openai` package 7.55.0 (`resources/responses/responses.d.ts`).
describe('how the responses protocol reads a response', () => {
  it('returns the text, the summary of the reasoning, and the tokens', async () => {
    const usage = {
      input_tokens: 328,
      input_tokens_details: {
        cached_tokens: 256,
        cache_write_tokens: 64,
        cache_write_tokens_details: { ttl_30m_tokens: 60, ttl_12h_tokens: 4 },
      },
      output_tokens: 52,
      output_tokens_details: { reasoning_tokens: 40 },
      total_tokens: 380,
    };
    const body = aResponse([reasoningItem, aMessageItem('42')], { usage, service_tier: 'flex' });

    const { response } = await sendOver('responses', { body });

    expect(response).toMatchObject({
      output: anOutput({ text: '42', reasoning: 'First.\n\nSecond.' }),
      finishReason: 'stop',
      rawFinishReason: 'completed',
      usage: {
        inputTokens: 328,
        cachedInputTokens: 256,
        cacheWriteTokens: 64,
        longCacheWriteTokens: 4,
        outputTokens: 52,
        reasoningTokens: 40,
        serviceTier: 'flex',
      },
      fault: undefined,
    });
  });

  it.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'content-filter'],
    ['max_messages', 'other'],
  ])('reads the incomplete response of %s as %s', async (reason, finishReason) => {
    const body = aResponse([reasoningItem], {
      status: 'incomplete',
      incomplete_details: { reason },
    });

    const { response } = await sendOver('responses', { body });

    expect(response).toMatchObject({ finishReason, rawFinishReason: reason, fault: undefined });
    expect(response.output.text).toBeNull();
  });

  it.each([
    ['server_error', 'model-unavailable'],
    ['rate_limit_exceeded', 'model-rate-limited'],
  ])('returns the error %s of a failed response as the fault %s', async (code, fault) => {
    const body = aResponse([], { status: 'failed', error: { code, message: 'no' }, usage: null });

    const { response } = await sendOver('responses', { body });
    const events = [{ type: 'response.failed', response: body }];
    const { response: streamed } = await sendOver('responses', { events });

    expect(response.fault).toMatchObject({ code: fault });
    expect(streamed.fault).toMatchObject({ code: fault });
    expect(response.usage.outputTokens).toBeNull();
  });

  it('returns a cancelled response as a fault', async () => {
    const { response } = await sendOver('responses', {
      body: aResponse([], { status: 'cancelled' }),
    });

    expect(response.fault).toMatchObject({ code: 'model-unavailable' });
  });

  it('reads a refusal, a call, and no commentary beside the answer', async () => {
    const refusal = { type: 'message', content: [{ type: 'refusal', refusal: 'I cannot.' }] };
    const commentary = { ...aMessageItem('Looking.'), phase: 'commentary' };

    const outputs = await Promise.all(
      [[refusal], [commentary, call], [commentary, aMessageItem('42')]].map(async (items) => {
        const { response } = await sendOver('responses', { body: aResponse(items) });
        return [response.output, response.finishReason];
      }),
    );

    expect(outputs).toEqual([
      [anOutput({ text: null, refusal: 'I cannot.' }), 'stop'],
      [
        anOutput({
          text: 'Looking.',
          toolCalls: [{ id: 'c1', name: 'add', arguments: '{"a":1}' }],
        }),
        'tool-calls',
      ],
      [anOutput({ text: '42' }), 'stop'],
    ]);
  });

  it('reads the parts that it knows beside those that it does not', async () => {
    const items = [
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { type: 'message', content: [{ type: 'new' }, { type: 'output_text', text: '42' }] },
      { type: 'function_call', call_id: 7 },
    ];

    const { response } = await sendOver('responses', { body: aResponse(items) });

    expect(response.output).toEqual(anOutput({ text: '42' }));
  });
});

const created = { type: 'response.created', response: aResponse([], { status: 'in_progress' }) };
const delta = (type: string, text: string, index = 0) => ({
  type: `response.${type}.delta`,
  output_index: index,
  delta: text,
});

describe('how the responses protocol reads a stream', () => {
  it('returns the response that ends the stream', async () => {
    const usage = { input_tokens: 12, output_tokens: 3 };
    const events = [
      created,
      { type: 'response.output_item.added', output_index: 0, item: { ...reasoningItem } },
      delta('output_text', '4', 1),
      { type: 'response.completed', response: aResponse([aMessageItem('42')], { usage }) },
    ];

    const { response } = await sendOver('responses', { events });

    expect(response).toMatchObject({
      output: anOutput({ text: '42' }),
      usage: { inputTokens: 12, outputTokens: 3 },
      fault: undefined,
      ttftMs: expect.any(Number) as number,
    });
  });

  it('returns what was streamed where the last event has no output', async () => {
    const events = [
      created,
      delta('reasoning_summary_text', 'First.'),
      { type: 'response.output_item.added', output_index: 2, item: { ...call, arguments: '' } },
      delta('function_call_arguments', '{"a":', 2),
      delta('function_call_arguments', '1}', 2),
      { type: 'response.output_item.done', output_index: 1, item: aMessageItem('42') },
      { type: 'response.completed', response: aResponse([]) },
    ];

    const { response } = await sendOver('responses', { events });

    expect(response.fault).toBeUndefined();
    expect(response.output).toEqual(
      anOutput({
        text: '42',
        reasoning: 'First.',
        toolCalls: [{ id: 'c1', name: 'add', arguments: '{"a":1}' }],
      }),
    );
  });

  it('keeps the text of a stream that ends before the response does', async () => {
    const events = [created, delta('output_text', '4'), delta('refusal', 'No', 1)];

    const { response } = await sendOver('responses', { events });

    expect(response.fault).toMatchObject({ code: 'truncated-response' });
    expect(response.output).toEqual(anOutput({ text: '4', refusal: 'No' }));
    expect(response.finishReason).toBe('other');
  });

  it('returns the error event that ends a stream as the fault', async () => {
    const error = { type: 'error', code: 'rate_limit_exceeded', message: 'slow', param: null };

    const { response } = await sendOver('responses', { events: [created, error] });

    expect(response.fault).toMatchObject({ code: 'model-rate-limited' });
  });
});
