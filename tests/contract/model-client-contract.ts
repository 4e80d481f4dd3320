import {
  type Lane,
  type ModelClient,
  type ModelRequest,
  type ModelResponse,
  ThriceError,
} from '@thrice/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aLane, aModelRequest, aUsage } from '../support/builders.ts';
import { type HttpServer, sendEvents, sendJson, startHttpServer } from '../support/http-server.ts';
import type { ProtocolBodies } from '../support/protocol-bodies.ts';

/** Opens a client whose lanes have this key. */
export type OpenModelClient = (key?: string) => ModelClient & AsyncDisposable;

const never = new AbortController().signal;
const unknownUsage = aUsage({ inputTokens: null, outputTokens: null });
const noTokens = {
  ...unknownUsage,
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  longCacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
};
const readUsage = { ...unknownUsage, inputTokens: 12, outputTokens: 3 };
const paidClasses = ['transient', 'rate-limited', 'exhausted', 'misconfigured', 'rejected'];
const canary = 'sk-canary-5f1e0c9a77d24b';
/** Types of events, items, blocks and parts. */
const EVENT_TYPES = [
  'message',
  'thinking',
  'reasoning',
  'function_call',
  'tool_use',
  'error',
  'message_start',
  'message_delta',
  'content_block_start',
  'content_block_delta',
  'text_delta',
  'input_json_delta',
  'response.output_item.added',
  'response.output_item.done',
  'response.output_text.delta',
  'response.completed',
];

async function startWith(body: unknown): Promise<HttpServer> {
  return await startHttpServer((response) => sendJson(response, body));
}

async function streamWith(...events: readonly unknown[]): Promise<HttpServer> {
  return await startHttpServer((response) => {
    sendEvents(response, [...events, '[DONE]']);
    response.end();
  });
}

/** The promises of {@link ModelClient}, for a wire protocol. */
export function describeModelClientContract(
  name: string,
  bodies: ProtocolBodies,
  openClient: OpenModelClient,
): void {
  const { protocol, usage } = bodies;
  const anAnswer = bodies.answer('42');
  /** The first bytes of a body that does not end, and what they are kept as. */
  const partOf = (isStreamed: boolean) =>
    isStreamed
      ? {
          first: bodies
            .begin('4')
            .map((event) => `data: ${JSON.stringify(event)}\n\n`)
            .join(''),
          kept: bodies.begun('4'),
        }
      : { first: '{"choices": [', kept: { text: '{"choices": [' } };

  function requestTo(
    { url }: { readonly url: string },
    parts: Partial<ModelRequest> = {},
    lane: Partial<Lane> = {},
  ): ModelRequest {
    return aModelRequest({ lane: aLane({ protocol, endpoints: [url], ...lane }), ...parts });
  }

  async function sendTo(
    server: { readonly url: string },
    parts: Partial<ModelRequest> = {},
    lane: Partial<Lane> = {},
  ): Promise<ModelResponse> {
    await using client = openClient();
    return await client.send(requestTo(server, parts, lane), never);
  }

  describe(`what ${name} returns for a 2xx status`, () => {
    it('is the answer, without a fault', async () => {
      const body = bodies.answer('42', { usage });
      await using server = await startWith(body);

      const response = await sendTo(server);

      expect(response).toMatchObject({
        endpoint: server.url,
        servedModel: 'm',
        output: { text: '42' },
        finishReason: 'stop',
        usage: readUsage,
        rateLimits: {},
        raw: body,
      });
      expect(response.fault).toBeUndefined();
    });

    it.each<[string, string]>([
      ['nothing', ''],
      ['a page', '<html>Service is being updated</html>'],
      ['half a document', '{"choices": [{"mess'],
    ])('keeps the text of a body that is no JSON: %s', async (_, text) => {
      await using server = await startWith(text);

      const whole = await sendTo(server);
      const streamed = await sendTo(server, { isStreamed: true });

      expect(whole.fault?.message).toContain('expected JSON');
      for (const response of [whole, streamed]) {
        expect(response).toMatchObject({
          raw: { text },
          usage: unknownUsage,
          servedModel: null,
          output: { text: null, toolCalls: [] },
          finishReason: null,
          fault: { code: 'truncated-response', class: 'transient' },
        });
      }
    });

    it.each<[string, unknown]>([
      ['null', null],
      ['a number', 7],
      ['a text', '"42"'],
      ['an array', []],
      ['an empty object', {}],
      ...bodies.others,
      ['true for the error', { error: true }],
      ['an array for the error', { error: [] }],
    ])('keeps a body that is no answer: %s', async (_, body) => {
      await using server = await startWith(JSON.stringify(body));

      const response = await sendTo(server);

      expect(response).toMatchObject({
        usage: unknownUsage,
        output: { text: null },
        fault: { code: 'truncated-response' },
      });
      expect(response.raw).toEqual(body);
    });

    it.each<[string, unknown]>([
      ['without an answer', { model: 'm', usage }],
      [
        'with an answer of another shape',
        { model: 'm', choices: 'none', output: 'none', content: 'none', usage },
      ],
      ['with an error object', { error: { message: 'no' }, model: 'm', usage }],
    ])('keeps the usage and the model of a body %s', async (_, body) => {
      await using server = await startWith(body);

      const response = await sendTo(server);

      expect(response).toMatchObject({ servedModel: 'm', usage: readUsage });
      expect(response.fault).toBeInstanceOf(ThriceError);
    });

    it.each<[string, unknown]>([['an array', []], ['a text', 'many'], ...bodies.unreadableUsages])(
      'reads the answer beside an unreadable usage: %s',
      async (_, unreadable) => {
        await using server = await startWith(bodies.answer('42', { usage: unreadable }));

        const response = await sendTo(server);

        expect(response).toMatchObject({ usage: unknownUsage, output: { text: '42' } });
        expect(response.fault).toBeUndefined();
      },
    );

    it.each<[string, unknown, string, string]>([
      ['a quota', { code: 'insufficient_quota', message: 'x' }, 'quota-exhausted', 'exhausted'],
      ['a quota, as a text', 'Insufficient balance', 'quota-exhausted', 'exhausted'],
      ['a rate limit', { code: 429, message: 'slow' }, 'model-rate-limited', 'rate-limited'],
      ['a bad key', { code: 'invalid_api_key', message: 'x' }, 'auth-failed', 'misconfigured'],
      ['an overload', { type: 'overloaded_error' }, 'model-unavailable', 'transient'],
      ['a code that is no status', { code: 1_000, message: 'x' }, 'unclassified', 'transient'],
      ['odd types', { code: {}, type: 7, message: ['x'] }, 'unclassified', 'transient'],
    ])(
      'maps an error object to its error, with no tokens: %s',
      async (_, error, code, errorClass) => {
        await using whole = await startWith({ error });
        await using streamed = await streamWith({ error });

        const responses = [await sendTo(whole), await sendTo(streamed, { isStreamed: true })];

        for (const response of responses) {
          expect(response.fault).toMatchObject({ code, class: errorClass });
          expect(response.usage).toEqual(noTokens);
          expect(response.raw).toMatchObject({ error });
        }
      },
    );

    it('does not know the tokens of a stream that an error ends after its first text', async () => {
      const error = { type: 'overloaded_error', message: 'Overloaded' };
      await using server = await streamWith(...bodies.begin('4'), { error });

      const response = await sendTo(server, { isStreamed: true });

      expect(response).toMatchObject({
        fault: { code: 'model-unavailable' },
        usage: unknownUsage,
        output: { text: '4' },
        raw: { ...bodies.begun('4'), error },
      });
    });

    it('returns the wait of a rate limit inside the body', async () => {
      await using server = await startHttpServer((response) =>
        sendJson(response, { error: { code: 429 } }, { headers: { 'retry-after': '2' } }),
      );

      const { fault, rateLimits } = await sendTo(server);

      expect(rateLimits).toEqual({ 'retry-after': '2' });
      expect(fault?.details).toMatchObject({ retryAfterMs: 2_000, rateLimits });
    });

    it('keeps the text and the tokens of a limit notice in place of an answer', async () => {
      const content = 'Claude AI usage limit reached|1767326675';
      await using server = await startWith(bodies.answer(content, { usage }));

      const response = await sendTo(server);

      expect(response).toMatchObject({
        output: { text: content },
        usage: readUsage,
        fault: { code: 'quota-exhausted', details: { resetAt: '2026-01-02T04:04:35.000Z' } },
      });
    });

    it('keeps no more of the name of a model than its end, which is compared', async () => {
      const model = `${'x'.repeat(100_000)}/models/qwen3-32b.gguf`;
      await using server = await startWith({ ...bodies.answer('42', { usage }), model });

      const { servedModel, raw } = await sendTo(server);

      expect(servedModel).toBe(`…${model.slice(-299)}`);
      expect(raw).toMatchObject({ model });
    });

    it('leaves a content filter and another served model to the caller', async () => {
      await using server = await startWith({ ...bodies.filtered, usage });

      const response = await sendTo(server);

      expect(response.fault).toBeUndefined();
      expect(response).toMatchObject({
        finishReason: 'content-filter',
        servedModel: 'cheaper',
        usage: readUsage,
      });
    });

    it.each([false, true])(
      'is a body that breaks off, as far as it arrived (streamed: %s)',
      async (isStreamed) => {
        const { first, kept } = partOf(isStreamed);
        await using server = await startHttpServer((response) => {
          const type = isStreamed ? 'text/event-stream' : 'application/json';
          response.writeHead(200, { 'content-type': type, 'content-length': '10000' });
          response.write(first, () => response.socket?.end());
        });

        const response = await sendTo(server, { isStreamed });

        expect(response.fault).toMatchObject({ code: 'connection-failed', class: 'transient' });
        expect(response.usage).toEqual(unknownUsage);
        expect(response.raw).toMatchObject(kept);
      },
    );

    it.each([false, true])(
      'is a body that takes longer than the timeout, as far as it arrived (streamed: %s)',
      async (isStreamed) => {
        const { first, kept } = partOf(isStreamed);
        await using server = await startHttpServer((response) => {
          response.writeHead(200);
          response.write(first);
        });

        const response = await sendTo(server, { isStreamed }, { timeoutMs: 200 });

        expect(response.fault).toMatchObject({ code: 'model-timeout', class: 'transient' });
        expect(response.raw).toMatchObject(kept);
      },
    );

    it.each([false, true])(
      'names the reason as its fault when the signal aborts before all of it has arrived (streamed: %s)',
      async (isStreamed) => {
        const controller = new AbortController();
        const reason = new ThriceError({ code: 'interrupted', message: 'stopped' });
        const { first, kept } = partOf(isStreamed);
        const written = Promise.withResolvers<void>();
        await using server = await startHttpServer((response) => {
          response.writeHead(200);
          response.write(first, () => written.resolve());
        });
        await using other = await startWith(anAnswer);
        await using client = openClient();
        const sent = client.send(requestTo(server, { isStreamed }), controller.signal);
        await written.promise;
        // What was written before has arrived when the response to a later call has.
        await client.send(requestTo(other, {}, { name: 'other' }), never);

        controller.abort(reason);

        const { fault, usage: received, raw } = await sent;
        expect(fault).toBe(reason);
        expect(received).toEqual(unknownUsage);
        expect(raw).toMatchObject(kept);
      },
    );

    it('is the answer if only the end of the response is missing', async () => {
      const body = JSON.stringify(bodies.answer('42', { usage }));
      await using server = await startHttpServer((response) => {
        response.writeHead(200);
        response.write(body, () => response.socket?.end());
      });

      const response = await sendTo(server);

      expect(response.fault).toBeUndefined();
      expect(response).toMatchObject({ output: { text: '42' }, usage: readUsage });
    });

    it('is the document that a server sends in place of a stream', async () => {
      await using server = await startWith(bodies.answer('42', { usage }));

      const response = await sendTo(server, { isStreamed: true });

      expect(response.fault).toBeUndefined();
      expect(response).toMatchObject({ output: { text: '42' }, usage: readUsage, ttftMs: null });
    });

    it.each(['[', '{"a":'])('is kept as a text if it nests %s too deeply', async (opening) => {
      const text = opening.repeat(200_000);
      const closed = text + (opening === '[' ? ']' : '1}').repeat(200_000);
      for (const body of [text, closed, `{"error":${closed}}`]) {
        await using server = await startWith(body);
        await using client = openClient(canary);

        const response = await client.send(requestTo(server), never);

        expect(response.raw).toEqual({ text: body });
        expect(response.fault).toMatchObject({ code: 'truncated-response' });
      }
      await using server = await streamWith(`{"error":${closed}}`);
      const streamed = await sendTo(server, { isStreamed: true });
      expect(streamed.fault?.class).toBe('transient');
      expect(JSON.stringify(streamed.raw)).toContain('error');
    });

    it('never is an exception or a bug, whatever JSON it is', async () => {
      let body = '';
      await using server = await startHttpServer((response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(body);
      });
      await using client = openClient(canary);
      const names = ['error', 'choices', 'message', 'delta', 'content', 'usage', 'model', 'code'];
      const key = fc.oneof(
        fc.constantFrom(...names, 'finish_reason', 'tool_calls', 'function', 'images', 'type'),
        fc.constantFrom('output', 'status', 'item', 'response', 'output_index', 'stop_reason'),
        fc.constantFrom('index', 'content_block', 'text', 'input', '__proto__', 'constructor'),
        fc.string(),
      );
      const { json } = fc.letrec((tie) => ({
        json: fc.oneof(
          { depthSize: 'medium', withCrossShrink: true },
          fc.constantFrom(null, true, 0, -1, 1.5, 429, '', 'text', canary),
          fc.constantFrom(...EVENT_TYPES),
          fc.array(tie('json'), { maxLength: 3 }),
          fc.dictionary(key, tie('json'), { maxKeys: 6 }),
        ),
      }));

      await fc.assert(
        fc.asyncProperty(json, fc.boolean(), async (value, isStreamed) => {
          body = isStreamed ? `data: ${JSON.stringify(value)}\n\n` : JSON.stringify(value);

          const { fault, raw } = await client.send(requestTo(server, { isStreamed }), never);

          if (fault !== undefined) expect(paidClasses).toContain(fault.class);
          expect(JSON.stringify([raw, fault?.message])).not.toContain(canary);
        }),
        { numRuns: 400, seed: 17 },
      );
    }, 60_000);
  });

  describe(`when ${name} rejects`, () => {
    it.each([
      [401, 'auth-failed'],
      [429, 'model-rate-limited'],
      [500, 'model-unavailable'],
      [302, 'unclassified'],
    ])('the status is no 2xx: %i is %s', async (status, code) => {
      await using server = await startHttpServer((response) =>
        sendJson(response, anAnswer, { status }),
      );

      await expect(sendTo(server)).rejects.toMatchObject({ code, details: { status } });
    });

    it('the status of a refusal decides, though its body breaks off', async () => {
      await using server = await startHttpServer((response) => {
        response.writeHead(429, { 'content-length': '1000', 'retry-after': '3' });
        response.write('{"error":', () => response.socket?.end());
      });

      await expect(sendTo(server)).rejects.toMatchObject({
        code: 'model-rate-limited',
        details: { status: 429, retryAfterMs: 3_000 },
      });
    });

    it('no response arrives before the timeout', async () => {
      await using server = await startHttpServer(() => undefined);

      await expect(sendTo(server, {}, { timeoutMs: 50 })).rejects.toMatchObject({
        code: 'model-timeout',
        message: 'no answer within 0.05 s',
      });
    });

    it('the connection closes before a response', async () => {
      await using server = await startHttpServer((response) => response.socket?.destroy());

      await expect(sendTo(server)).rejects.toMatchObject({
        code: 'connection-failed',
        details: { isUnsent: false, hasHealthyEndpoint: false },
      });
    });

    it('no connection is made', async () => {
      const server = await startWith(anAnswer);
      await server[Symbol.asyncDispose]();

      await expect(sendTo(server)).rejects.toMatchObject({
        code: 'connection-failed',
        details: { isUnsent: true, hasHealthyEndpoint: false },
      });
    });

    it('one of several endpoints is dead: the others get the calls', async () => {
      const dead = await startWith(anAnswer);
      await dead[Symbol.asyncDispose]();
      await using live = await startWith(anAnswer);
      await using client = openClient();
      const lane = aLane({ endpoints: [dead.url, live.url] });

      const first = client.send(aModelRequest({ lane }), never);

      await expect(first).rejects.toMatchObject({
        details: { isUnsent: true, hasHealthyEndpoint: true },
      });
      for (let call = 0; call < 5; call += 1) {
        expect((await client.send(aModelRequest({ lane }), never)).endpoint).toBe(live.url);
      }
    });

    it('the signal aborts before a response', async () => {
      const controller = new AbortController();
      const reason = new ThriceError({ code: 'lease-lost', message: 'taken over' });
      await using server = await startHttpServer(() => controller.abort(reason));
      await using client = openClient();

      const sent = client.send(requestTo(server), controller.signal);

      await expect(sent).rejects.toBe(reason);
    });

    it('the key cannot be sent', async () => {
      await using server = await startWith(anAnswer);
      await using client = openClient('sk-with\nline');

      const sent = client.send(requestTo(server), never);

      await expect(sent).rejects.toMatchObject({ code: 'auth-failed' });
      expect(server.requests).toEqual([]);
    });
  });

  it(`${name} removes white space around a key`, async () => {
    await using server = await startWith(anAnswer);
    await using client = openClient(`${canary}\n`);

    await client.send(requestTo(server), never);

    const [header, value] = bodies.keyHeader(canary);
    expect(server.requests[0]?.headers[header]).toBe(value);
  });
}
