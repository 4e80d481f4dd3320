import { ThriceError } from '@thrice/core';
import fc from 'fast-check';
import { APIError } from 'openai/core/error';
import { describe, expect, it } from 'vitest';
import type { ReceivedBody } from '../../../packages/models/src/call/assemble-stream.ts';
import { receiveBody } from '../../../packages/models/src/call/receive-body.ts';
import { AssembledCompletion } from '../../../packages/models/src/chat/assembled-completion.ts';
import { readCompletion } from '../../../packages/models/src/chat/read-completion.ts';
import type { HttpResponse } from '../../../packages/models/src/transport/http-transport.ts';
import { aLane } from '../../support/builders.ts';
import { aChunk, aCompletion } from '../../support/http-server.ts';

/** A response whose body arrives in these pieces, and then breaks off. */
function aResponse(
  pieces: readonly (string | Buffer)[],
  failure?: ThriceError,
): HttpResponse & { readonly readCount: number } {
  let readCount = 0;
  return {
    status: 200,
    headers: {},
    get readCount() {
      return readCount;
    },
    readBody: async (_, onPiece) => {
      for (const piece of pieces) {
        readCount += 1;
        if (onPiece(Buffer.from(piece))) return await Promise.resolve(undefined);
      }
      return failure;
    },
    pause: () => undefined,
    resume: () => undefined,
  };
}

async function receive(
  pieces: readonly (string | Buffer)[],
  failure?: ThriceError,
): Promise<ReceivedBody> {
  return await receiveBody(aResponse(pieces, failure), () => new AssembledCompletion(), 0);
}

function event(value: unknown): string {
  return `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
}

/** What a stream of these events says, and what is wrong with it. */
async function read(...events: readonly unknown[]) {
  const { raw, failure } = await receive(events.map(event));
  const { output, usage, finishReason, problem } = readCompletion(raw, { lane: aLane(), nowMs: 0 });
  return { text: output.text, usage, finishReason, failure: failure ?? problem };
}

const brokenOff = new ThriceError({ code: 'connection-failed', message: 'reset' });
const usage = { prompt_tokens: 12, completion_tokens: 3 };
const completion = aCompletion({ content: '42' }, { usage });

describe('receiveBody', () => {
  it.each([
    ['a document', [JSON.stringify(completion)]],
    [
      'a document after white space and a byte order mark',
      ['\uFEFF \n', JSON.stringify(completion)],
    ],
    ['a stream', [event(aChunk({ content: '42' }, 'stop')), event('[DONE]')]],
    // LiteLLM #25766: an endpoint that "always returns streaming (SSE) even when `stream: false`",
    // https://github.com/BerriAI/litellm/issues/25766 (2026-04)
    ['a stream that begins with a comment', [': x\n\n', event(aChunk({ content: '42' }, 'stop'))]],
    [
      'a stream that begins with a name',
      ['event: message\n', event(aChunk({ content: '42' }, 'stop'))],
    ],
    ['a stream after blank lines', ['\uFEFF\r\n\r\n', event(aChunk({ content: '42' }, 'stop'))]],
  ])('reads by what it is: %s', async (_, pieces) => {
    const bytes = [...Buffer.from(pieces.join(''))].map((byte) => Buffer.from([byte]));

    for (const arrived of [pieces, bytes]) {
      const { raw, failure } = await receive(arrived);

      expect(failure).toBeUndefined();
      expect(readCompletion(raw, { lane: aLane(), nowMs: 0 })).toMatchObject({
        output: { text: '42' },
        finishReason: 'stop',
      });
    }
  });

  it('keeps a long answer whole that the model has ended before the connection broke', async () => {
    const content = 'x'.repeat(3 * 1024 * 1024);

    const { raw, failure } = await receive([event(aChunk({ content }, 'stop'))], brokenOff);

    expect(failure).toBeUndefined();
    const answer = readCompletion(raw, { lane: aLane(), nowMs: 0 });
    expect(answer.output?.text).toHaveLength(content.length);
  });

  it.each([
    ['a page', '<!doctype html><html>Bad gateway</html>', 'a page of HTML'],
    ['nothing', '', 'a body that is cut off or not JSON'],
    ['white space', ' \n ', 'a body that is cut off or not JSON'],
    ['a word', 'datum', 'a body that is cut off or not JSON'],
    ['the beginning of a field', 'dat', 'a body that is cut off or not JSON'],
    ['a stream without events', ': ping\n\n: ping\n\n', 'a body that is cut off or not JSON'],
    ['a stream of nothing but its end', 'data: [DONE]\n\n', 'a body that is cut off or not JSON'],
  ])('keeps the text of what is neither: %s', async (_, text, found) => {
    const received = await receive([text]);

    expect(received).toMatchObject({
      raw: { text },
      ttftMs: null,
      failure: {
        code: 'truncated-response',
        class: 'transient',
        message: `expected JSON, received ${found}`,
      },
    });
  });

  it('keeps no more than 2 MiB of what is neither', async () => {
    const { raw } = await receive(Array.from({ length: 100 }, () => '<'.repeat(100_000)));

    expect(raw).toEqual({ text: '<'.repeat(2 * 1024 * 1024) });
  });
});

describe('a stream', () => {
  const answer = aChunk({ content: '42' });
  const end = aChunk({}, 'stop');

  it.each<[string, readonly unknown[]]>([
    ['its end mark', [answer, end, '[DONE]']],
    ['its finish reason', [answer, end]],
    ['a usage without choices', [answer, end, { choices: [], usage }, '[DONE]']],
    ['half an event after its finish reason', [answer, end, '{"id": "c']],
    ['heartbeats without data', [answer, '', end, '']],
    ['a null error', [answer, { ...end, error: null }]],
    ['an event of another kind', [answer, { type: 'ping' }, end]],
    // Azure: https://learn.microsoft.com/en-us/answers/questions/1533887 (2024-02)
    ['filter results before the answer', [{ choices: [], prompt_filter_results: [] }, answer, end]],
    ['an empty finish reason in each chunk', [aChunk({ content: '42' }, ''), end]],
  ])('is complete with %s', async (_, events) => {
    expect(await read(...events)).toMatchObject({
      text: '42',
      finishReason: 'stop',
      failure: undefined,
    });
  });

  it('is complete where the connection breaks after the finish reason', async () => {
    const { failure } = await receive([event(answer), event(end)], brokenOff);

    expect(failure).toBeUndefined();
  });

  it('is incomplete where the connection breaks before the finish reason', async () => {
    const { raw, failure } = await receive([event(answer), 'data: {"id"'], brokenOff);

    expect(failure).toBe(brokenOff);
    expect(readCompletion(raw, { lane: aLane(), nowMs: 0 }).output.text).toBe('42');
  });

  it.each<[string, readonly unknown[], string]>([
    ['without a finish reason', [answer], 'without a finish reason'],
    ['with an empty finish reason', [aChunk({ content: '42' }, '')], 'without a finish reason'],
    ['with an unreadable event in its middle', [answer, '{"id": "c', end], 'expected an event'],
    ['with an event of another shape', [answer, { choices: 'none' }, end], 'expected an event'],
  ])('is incomplete %s', async (_, events, message) => {
    const { failure, text } = await read(...events);

    expect(failure).toMatchObject({ code: 'truncated-response' });
    expect(failure?.message).toContain(message);
    expect(text).toBe('42');
  });

  it('is read on after an unreadable event, because the usage comes last', async () => {
    const received = await read(answer, '{"id": "c', { ...end, usage });

    expect(received.usage).toMatchObject({ inputTokens: 12, outputTokens: 3 });
  });

  it('is not read on after its end mark', async () => {
    const response = aResponse([event(answer), event(end), event('[DONE]'), event(answer)]);

    await receiveBody(response, () => new AssembledCompletion(), 0);

    expect(response.readCount).toBe(3);
  });

  it('has the first of several choices', async () => {
    // With `n = 2`, each chunk carries one choice: https://platform.openai.com/docs/api-reference/chat-streaming
    const chunk = (index: number, content: string, reason: string | null = null) => ({
      choices: [{ index, delta: { content }, finish_reason: reason }],
    });

    const received = await read(
      chunk(1, 'no'),
      chunk(0, '4'),
      chunk(1, 'no', 'length'),
      chunk(0, '2', 'stop'),
      { choices: [chunk(1, 'no').choices[0], chunk(0, '!').choices[0]] },
    );

    expect(received).toMatchObject({ text: '42!', finishReason: 'stop' });
  });

  it.each<[string, readonly unknown[], object]>([
    ['null', [{ ...end, usage: null }], {}],
    ['zeros', [{ ...end, usage: { prompt_tokens: 0, completion_tokens: 0 } }], {}],
    ['texts', [{ ...end, usage: { prompt_tokens: 'many', completion_tokens: {} } }], {}],
    ['larger counts', [{ ...end, usage: { completion_tokens: 9 } }], { outputTokens: 9 }],
    [
      'details that are zero',
      [{ ...end, usage: { completion_tokens_details: { reasoning_tokens: 0 } } }],
      { reasoningTokens: 2 },
    ],
  ])('keeps its usage where a later chunk has %s', async (_, later, expected) => {
    // DeepSeek and Kimi send a usage with every chunk, "zero/null values in intermediate chunks":
    // https://github.com/router-for-me/CLIProxyAPI/pull/3077 (2026-04)
    const first = { ...usage, completion_tokens_details: { reasoning_tokens: 2 } };
    const { usage: counts } = await read({ ...answer, usage: first }, ...later);

    expect(counts).toMatchObject({
      inputTokens: 12,
      outputTokens: 3,
      reasoningTokens: 2,
      ...expected,
    });
  });
});

describe('an error in a stream with a successful status', () => {
  const rateLimit = { code: 429, message: 'Rate limit exceeded' };

  it.each<[string, string, object]>([
    [
      // https://openrouter.ai/docs/api-reference/errors (2026-11): "any error occurred while the LLM is producing the
      // output will be emitted in the response body or as an SSE data event".
      'OpenRouter',
      event({
        id: 'gen-1',
        object: 'chat.completion.chunk',
        model: 'm',
        error: rateLimit,
        choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
      }),
      rateLimit,
    ],
    [
      // https://github.com/vllm-project/guidellm/issues/743 (2026-05)
      'vLLM',
      event({ error: { message: 'TimeoutError', type: 'GatewayTimeout', code: 504 } }) +
        event('[DONE]'),
      { type: 'GatewayTimeout', code: 504 },
    ],
    [
      // Until 0.10.1: https://github.com/vllm-project/vllm/issues/12886 (2025-02)
      'vLLM, older',
      event({ object: 'error', message: 'out of memory', type: 'InternalServerError', code: 500 }),
      { message: 'out of memory', code: 500 },
    ],
    [
      // https://docs.claude.com/en/docs/build-with-claude/streaming#error-events (2026-11)
      'Anthropic',
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
      { type: 'overloaded_error', message: 'Overloaded' },
    ],
    [
      // https://github.com/BerriAI/litellm/issues/5175 (2024-08)
      'LiteLLM',
      event({
        error: { message: 'litellm.APIConnectionError', type: null, param: null, code: '500' },
      }),
      { message: 'litellm.APIConnectionError', code: '500' },
    ],
    [
      // https://github.com/coddy-project/coddy-agent/pull/106 (2026-08)
      'llama.cpp, older',
      `error: ${JSON.stringify({ code: 400, message: 'the request exceeds the available context size', type: 'invalid_request_error' })}\n\n${event('[DONE]')}`,
      { code: 400, type: 'invalid_request_error' },
    ],
    ['a named event with an object', 'event: error\ndata: {"message":"no"}\n\n', { message: 'no' }],
  ])('is read as %s sends it, with what arrived before', async (_, sent, error) => {
    const { raw, failure } = await receive([event(aChunk({ content: '4' })), sent]);

    expect(failure).toBeInstanceOf(APIError);
    expect((failure as APIError).error).toMatchObject(error);
    expect(raw).toMatchObject({ choices: [{ message: { content: '4' } }], error });
  });

  it('is what the protocol reports as one', async () => {
    const error = { code: 'rate_limit_exceeded', message: 'slow down' };
    const assembly = new AssembledCompletion();
    const add = () => {
      throw new APIError(undefined, error, undefined, undefined);
    };
    const response = aResponse([event({ type: 'error', ...error }), event('unread')]);
    const startAssembly = () => ({
      add,
      hasText: () => false,
      isFinished: () => false,
      build: (last: unknown) => assembly.build(last),
    });

    const { raw, failure } = await receiveBody(response, startAssembly, 0);

    expect(failure).toBeInstanceOf(APIError);
    expect(raw).toMatchObject({ error });
    expect(response.readCount).toBe(1);
  });

  it('may be a text', async () => {
    const { raw, failure } = await receive(['event: error\ndata: out of memory\n\n']);

    expect(failure).toBeInstanceOf(APIError);
    expect(raw).toMatchObject({ error: 'out of memory' });
  });
});

describe('what a server sends', () => {
  const names = [
    ...['error', 'choices', 'message', 'delta', 'content', 'usage', 'model', 'code', 'type'],
    ...[
      'finish_reason',
      'tool_calls',
      'function',
      'arguments',
      'images',
      'index',
      'object',
      '__proto__',
    ],
    ...['prompt_tokens', 'completion_tokens', 'completion_tokens_details', 'reasoning_content'],
  ];
  const leaf = fc.constantFrom(null, true, 0, -1, 1.5, 2 ** 60, 429, '', 'text', 'stop', [], {});
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      leaf,
      fc.array(tie('json'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...names), tie('json'), { maxKeys: 6 }),
    ),
  }));
  /** Each value of a document in turn, replaced by another. */
  function replaceAt(value: unknown, path: readonly number[], by: unknown): unknown {
    const [at, ...rest] = path;
    if (at === undefined || typeof value !== 'object' || value === null) return by;
    const entries = Object.entries(value);
    const position = at % Math.max(1, entries.length);
    const replaced = entries.map(([name, inner], index): [string, unknown] => [
      name,
      index === position ? replaceAt(inner, rest, by) : inner,
    ]);
    if (Array.isArray(value)) return replaced.map(([, inner]) => inner);
    return Object.fromEntries(replaced);
  }
  const whole = aCompletion(
    { content: '42', tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }] },
    { usage: { ...usage, completion_tokens_details: { reasoning_tokens: 1 } } },
  );
  const chunk = {
    ...aChunk({ content: '42', tool_calls: [{ index: 0, function: { arguments: '{' } }] }, 'stop'),
    usage,
  };
  const path = fc.array(fc.nat(20), { maxLength: 6 });
  const line = fc.oneof(
    fc.tuple(path, json).map(([at, by]) => event(replaceAt(chunk, at, by))),
    json.map((value) => event(value)),
    fc.string().map((text) => `data: ${text}\r\n`),
    fc.constantFrom('event: error\n', ': x\n', 'data: [DONE]\n\n', '\n', '\uFEFF', 'error: x\n'),
  );
  const body = fc.oneof(
    fc.tuple(path, json).map(([at, by]) => Buffer.from(JSON.stringify(replaceAt(whole, at, by)))),
    fc.array(line, { maxLength: 6 }).map((lines) => Buffer.from(lines.join(''))),
    fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
    fc
      .tuple(fc.array(line, { maxLength: 4 }), fc.uint8Array({ maxLength: 20 }))
      .map(([lines, bytes]) => Buffer.concat([Buffer.from(lines.join('')), bytes])),
  );

  it('is received and read without an exception, and always as JSON that can be kept', async () => {
    await fc.assert(
      fc.asyncProperty(body, fc.nat(), fc.boolean(), async (bytes, at, isCut) => {
        const cut = at % (bytes.length + 1);
        const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)];

        const { raw, failure, ttftMs } = await receive(pieces, isCut ? brokenOff : undefined);
        const { problem } = readCompletion(raw, { lane: aLane(), nowMs: 0 });

        expect(JSON.stringify(raw)).toBeTypeOf('string');
        expect(ttftMs === null || ttftMs > 0).toBe(true);
        for (const fault of [failure, problem]) {
          if (fault instanceof ThriceError)
            expect(['transient', 'exhausted', 'rate-limited']).toContain(fault.class);
          else if (fault !== undefined) expect(fault).toBeInstanceOf(APIError);
        }
      }),
      { numRuns: 3_000, seed: 29 },
    );
  });
});
