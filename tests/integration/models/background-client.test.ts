import {
  type BackgroundClient,
  type BackgroundReply,
  type ModelRequest,
  ThriceError,
} from '@thrice/core';
import { openModelClients, openTransport } from '@thrice/models';
import { startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { aLane, aModelRequest } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type HttpServer, sendJson, startHttpServer } from '../../support/http-server.ts';
import { aMessageItem, aResponse } from '../../support/protocol-bodies.ts';

const never = new AbortController().signal;
const key = 'sk-canary-5f1e0c9a77d24b';

/** Runs a test with the background client of a lane with this endpoint. */
async function over<T>(
  { url }: { readonly url: string },
  use: (client: BackgroundClient, request: ModelRequest) => Promise<T>,
  endpoints: readonly string[] = [url],
): Promise<T> {
  const lane = aLane({ protocol: 'responses', endpoints });
  const { clientFor, ...clients } = openModelClients({
    keyOf: () => key,
    clock: new FakeClock(),
    transport: openTransport({ environment: {} }),
  });
  await using _ = clients;
  const { background } = clientFor(lane);
  if (background === undefined) throw new Error('expected a background mode');
  return await use(background, aModelRequest({ lane }));
}

function aQueuedResponse(id: unknown = 'resp_1') {
  return aResponse([], { id, status: 'queued', usage: null });
}

async function startWith(body: unknown, status = 200): Promise<HttpServer> {
  return await startHttpServer((response) => sendJson(response, body, { status }));
}

async function poll(server: HttpServer, vendorId = 'resp_1'): Promise<BackgroundReply> {
  const response = { endpoint: server.url, vendorId };
  return await over(server, (client, request) => client.poll(request, response, never));
}

async function errorOf(reply: Promise<BackgroundReply>): Promise<ThriceError> {
  const error = await reply.catch((thrown: unknown) => thrown);
  if (error instanceof ThriceError) return error;
  throw new Error('expected a rejection');
}

describe('a response in the background', () => {
  it('is submitted with its call id, to be stored', async () => {
    await using server = await startWith(aQueuedResponse());

    const reply = await over(server, (client, request) =>
      client.submit({ ...request, extraBody: { metadata: { team: 'x' } } }, 'call-7', never),
    );

    expect(reply).toEqual({
      kind: 'pending',
      endpoint: server.url,
      vendorId: 'resp_1',
      rateLimits: {},
    });
    expect(server.requests[0]).toMatchObject({
      path: '/v1/responses',
      body: {
        background: true,
        store: true,
        stream: false,
        metadata: { thrice_call: 'call-7', team: 'x' },
      },
    });
  });

  it('is polled and cancelled by its name, with the key', async () => {
    await using server = await startWith(aResponse([aMessageItem('42')], { id: 'resp_1' }));

    const reply = await over(server, async (client, request) => {
      const response = { endpoint: server.url, vendorId: 'resp_1' };
      await client.cancel(request, response, never);
      return await client.poll(request, response, never);
    });

    expect(server.requests.map(({ path }) => path)).toEqual([
      '/v1/responses/resp_1/cancel',
      '/v1/responses/resp_1',
    ]);
    expect(server.requests[1]?.headers.authorization).toBe(`Bearer ${key}`);
    expect(reply).toMatchObject({ kind: 'ended', response: { output: { text: '42' } } });
  });

  it.each(['../../models', '..', 'a/b', '', 7, 'x'.repeat(2_000)])(
    'without a usable name is a paid response without an answer: %s',
    async (id) => {
      await using server = await startWith(aQueuedResponse(id));

      const reply = await over(server, (client, request) => client.submit(request, 'c', never));

      expect(reply).toMatchObject({
        kind: 'ended',
        response: { fault: { code: 'truncated-response' } },
      });
    },
  );

  it('is asked for at the endpoint that accepted it', async () => {
    await using first = await startWith(aQueuedResponse());
    await using second = await startWith(aQueuedResponse());
    const response = { endpoint: second.url, vendorId: 'resp_1' };

    await over(
      first,
      async (client, request) => {
        for (let count = 0; count < 3; count += 1) await client.poll(request, response, never);
      },
      [first.url, second.url],
    );

    expect([first.requests.length, second.requests.length]).toEqual([0, 3]);
  });

  it.each<[string, unknown]>([
    ['failed', aResponse([], { status: 'failed', error: { code: 'server_error', message: 'x' } })],
    ['cancelled', aResponse([], { status: 'cancelled', usage: null })],
  ])('that has %s is paid for and no answer', async (_, body) => {
    await using server = await startWith(body);

    const reply = await poll(server);

    expect(reply).toMatchObject({ kind: 'ended', response: { fault: { class: 'transient' } } });
  });
});

describe('a refusal to tell how far a response is', () => {
  it('because the vendor does not know its name has a code of its own', async () => {
    // vLLM: https://github.com/vllm-project/vllm/pull/22137 (2025-08)
    const message = "Response with id 'resp_1' not found.";
    await using server = await startWith(
      { error: { message, type: 'invalid_request_error' } },
      404,
    );

    expect((await errorOf(poll(server))).code).toBe('unknown-response');
  });

  it.each<[string, unknown]>([
    // A gateway: https://github.com/digitalocean/gradient-python/issues/96 (2026-05)
    ['a page', '<html>Maintenance</html>'],
    ['an error that names no response', { error: { message: 'Not found', type: 'error' } }],
  ])('with 404 and %s says nothing about the response', async (_, body) => {
    await using server = await startWith(body, 404);

    expect((await errorOf(poll(server))).code).toBe('unclassified');
  });

  it('with another status is that of any call', async () => {
    await using server = await startWith({ error: { message: 'slow down' } }, 429);

    expect((await errorOf(poll(server))).code).toBe('model-rate-limited');
  });
});

it('a response of the simulator is submitted, polled and read', async () => {
  let nowMs = 0;
  await using simulator = await startSimulator({
    behaviour: { seed: 1, models: { m: { accuracy: 1, latencyMs: { fixed: 1_000 } } } },
    clock: { now: () => nowMs, sleep: () => Promise.resolve() },
  });

  const replies = await over(simulator, async (client, request) => {
    const submitted = await client.submit(request, 'call-7', never);
    if (submitted.kind === 'ended') throw new Error('expected a response that is prepared');
    const halfway = await client.poll(request, submitted, never);
    nowMs += 1_000;
    return [halfway, await client.poll(request, submitted, never)];
  });

  expect(replies).toMatchObject([
    { kind: 'pending' },
    { kind: 'ended', response: { finishReason: 'stop', fault: undefined } },
  ]);
});
