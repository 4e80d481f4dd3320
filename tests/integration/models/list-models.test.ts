import { inspect } from 'node:util';
import { type Protocol, ThriceError } from '@thrice/core';
import { listModels, openTransport } from '@thrice/models';
import { startSimulator } from '@thrice/simulator';
import { describe, expect, it } from 'vitest';
import { aLane } from '../../support/builders.ts';
import { sendJson, startHttpServer } from '../../support/http-server.ts';

const canary = 'sk-canary-5f1e0c9a77d24b';

async function listFrom(
  endpoint: string,
  key: string | undefined,
  protocol: Protocol = 'chat',
): Promise<readonly string[]> {
  await using transport = openTransport({ environment: {} });
  const listed = await listModels({ lane: aLane({ protocol }), endpoint, key, transport });
  return listed.map(({ name }) => name);
}

async function failureOf(listed: Promise<unknown>): Promise<ThriceError> {
  const outcome = await listed.catch((error: unknown) => error);
  if (outcome instanceof ThriceError) return outcome;
  throw new Error(`expected a ThriceError, received ${inspect(outcome)}`);
}

describe('listModels', () => {
  it('lists the models of an endpoint over the protocol of its lane', async () => {
    const models = { small: { accuracy: 1 }, large: { accuracy: 1 } };
    await using simulator = await startSimulator({ behaviour: { seed: 1, models } });

    expect(await listFrom(simulator.url, undefined)).toEqual(['small', 'large']);
  });

  it('returns an empty list if the endpoint lists no models', async () => {
    await using simulator = await startSimulator();

    expect(await listFrom(simulator.url, canary)).toEqual([]);
  });

  it.each([
    ['vLLM and SGLang', { max_model_len: 4_096 }],
    ['OpenRouter', { context_length: 4_096 }],
    ['Groq', { context_window: 4_096 }],
  ])('reads the context window as %s state it', async (_server, fields) => {
    await using server = await startHttpServer((response) => {
      sendJson(response, { data: [{ id: 'a', ...fields }, { id: 'b' }] });
    });
    await using transport = openTransport({ environment: {} });

    const lane = aLane({ protocol: 'chat' });
    const listed = await listModels({ lane, endpoint: server.url, key: undefined, transport });

    expect(listed).toEqual([
      { name: 'a', contextTokens: 4_096 },
      { name: 'b', contextTokens: undefined },
    ]);
  });

  it.each([
    [401, 'auth-failed'],
    [403, 'auth-failed'],
    [404, 'endpoint-unreachable'],
    [500, 'endpoint-unreachable'],
  ])('maps %i to %s after one request, without the key', async (status, code) => {
    await using server = await startHttpServer((response, { headers }) => {
      const echo = { message: headers.authorization, code: headers.authorization };
      const options = { status, headers: { 'x-echo': headers.authorization ?? '' } };
      sendJson(response, { error: echo }, options);
    });

    const error = await failureOf(listFrom(server.url, canary));

    expect(error.code).toBe(code);
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain(canary);
    expect(server.requests.map(({ path }) => path)).toEqual(['/v1/models']);
  });

  it.each([
    ['with a slash at its end', '/v1/', '/v1/models'],
    ['with a query', '/v1?api-version=2', '/v1/models?api-version=2'],
  ])('asks a base URL %s', async (_, base, path) => {
    await using server = await startHttpServer((response) => sendJson(response, { data: [] }));

    await listFrom(`http://127.0.0.1:${server.port}${base}`, undefined);

    expect(server.requests.map((request) => request.path)).toEqual([path]);
  });

  it.each([
    ['no JSON', '<html></html>'],
    ['no list', { data: 'none' }],
  ])('reports an endpoint whose body is %s', async (_, body) => {
    await using server = await startHttpServer((response) => sendJson(response, body));

    const error = await failureOf(listFrom(server.url, undefined));

    expect(error).toMatchObject({
      code: 'endpoint-unreachable',
      message: 'expected a list of models, received another body',
    });
  });

  it('lists the models of an Anthropic endpoint with its headers, on one page', async () => {
    await using server = await startHttpServer((response) =>
      sendJson(response, { data: [{ type: 'model', id: 'claude-opus-5' }], has_more: false }),
    );
    const names = await listFrom(server.url, canary, 'anthropic');

    expect(names).toEqual(['claude-opus-5']);
    expect(server.requests[0]).toMatchObject({
      path: '/v1/models?limit=1000',
      headers: { 'x-api-key': canary, 'anthropic-version': '2023-06-01' },
    });
  });

  it('lists the names that are readable', async () => {
    const data = [{ id: 'small' }, null, { id: 7 }, 'large'];
    await using server = await startHttpServer((response) => sendJson(response, { data }));

    expect(await listFrom(server.url, undefined)).toEqual(['small']);
  });

  it('reports an endpoint that refuses connections', async () => {
    const server = await startHttpServer((response) => response.end());
    await server[Symbol.asyncDispose]();

    const error = await failureOf(listFrom(server.url, undefined));

    expect(error.code).toBe('endpoint-unreachable');
    expect(error.message).toContain('ECONNREFUSED');
  });
});
