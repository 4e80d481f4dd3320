import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { BatchResult } from '@thrice/core';
import { openBatchClients, openTransport } from '@thrice/models';
import { describe, expect, it } from 'vitest';
import { aLane, aModelRequest } from '../support/builders.ts';
import { collect } from '../support/collect.ts';
import { startFailingServer } from '../support/failing-server.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { aCompletion, sendJson, startHttpServer } from '../support/http-server.ts';
import { describeBatchClientContract, type OpenBatchClient } from './batch-client-contract.ts';

const openClient: OpenBatchClient = (lane, key) => {
  const transport = openTransport({ environment: {} });
  const clock = new FakeClock('2026-01-02T03:04:05.000Z');
  const client = openBatchClients({ keyOf: () => key, clock, transport })(lane);
  return Object.assign(client, {
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  });
};

for (const protocol of ['chat', 'responses', 'anthropic'] as const) {
  describeBatchClientContract(protocol, openClient);
}

const never = new AbortController().signal;
const canary = 'sk-canary-5f1e0c9a77d24b';

function lineOf(customId: string, response: object | null, error: object | null = null): string {
  return JSON.stringify({ id: 'batch_req_1', custom_id: customId, response, error });
}

function answerOf(customId: string, content = '42'): string {
  return lineOf(customId, { status_code: 200, request_id: 'r', body: aCompletion({ content }) });
}

/** A server with one batch of OpenAI that has ended, and a client of it. */
async function startEnded(
  sendResults: (response: ServerResponse) => void,
  { batch = {}, key }: { readonly batch?: object; readonly key?: string } = {},
) {
  const ended = { id: 'batch_1', object: 'batch', status: 'completed', output_file_id: 'file-1' };
  const server = await startHttpServer((response, { path }) => {
    if (path.startsWith('/v1/batches')) sendJson(response, { ...ended, ...batch });
    else sendResults(response);
  });
  const lane = aLane({ endpoints: [server.url] });
  const client = openClient(lane, key);
  const named = { endpoint: server.url, vendorId: 'batch_1' };
  return {
    paths: () => server.requests.map(({ path }) => path),
    poll: async () => await client.poll(lane, named, never),
    results: () => client.results(lane, named, never),
    [Symbol.asyncDispose]: async () => {
      await client[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

function textOf(result: BatchResult | undefined): string | null | undefined {
  return result?.kind === 'answered' ? result.response.output.text : undefined;
}

describe('the file of a batch', () => {
  it('that does not arrive leaves its calls unsent, as there is no batch before it', async () => {
    await using server = await startFailingServer({ answer: (response) => response.destroy() });
    const lane = aLane({ endpoints: [server.url] });
    await using client = openClient(lane, undefined);
    const request = { customId: 'a', request: aModelRequest({ lane }) };

    const submitting = client.submit({ lane, batchId: 'b', requests: [request] }, never);

    await expect(submitting).rejects.toMatchObject({
      code: 'connection-failed',
      details: { isUnsent: true },
    });
  });
});

describe('a server without a batch interface', () => {
  it.each(['chat', 'anthropic'] as const)('is said to have none, over %s', async (protocol) => {
    await using server = await startFailingServer({
      answer: (response) => sendJson(response, { detail: 'Not Found' }, { status: 404 }),
    });
    const lane = aLane({ protocol, endpoints: [server.url] });
    await using client = openClient(lane, undefined);
    const request = { customId: 'a', request: aModelRequest({ lane, maxTokens: 5 }) };

    const submitting = client.submit({ lane, batchId: 'b', requests: [request] }, never);

    await expect(submitting).rejects.toMatchObject({
      code: 'endpoint-unreachable',
      message: '404 Not Found; no batch interface is there: correct base_url, or leave batch out',
    });
  });
});

describe('the results of a batch', () => {
  it('are unknown to OpenAI once their file is deleted', async () => {
    const error = { message: 'No such File object: file-1', type: 'invalid_request_error' };
    await using server = await startEnded((response) => {
      sendJson(response, { error }, { status: 404 });
    });

    await expect(collect(server.results())).rejects.toMatchObject({ code: 'unknown-response' });
  });

  it('are unknown to Anthropic once it has archived them', async () => {
    const batch = {
      id: 'msgbatch_1',
      processing_status: 'ended',
      archived_at: '2026-01-02T03:04:05Z',
      results_url: null,
    };
    await using server = await startHttpServer((response) => sendJson(response, batch));
    const lane = aLane({ protocol: 'anthropic', endpoints: [server.url] });
    await using client = openClient(lane, undefined);
    const named = { endpoint: server.url, vendorId: 'msgbatch_1' };

    const results = collect(client.results(lane, named, never));

    await expect(results).rejects.toMatchObject({ code: 'unknown-response' });
  });
});

describe('a name that a vendor chooses', () => {
  const unsafe = [
    '..',
    '../files',
    'a/../../admin',
    'file-1/content?x=',
    'file-1#',
    '%2e%2e',
    'file 1',
    '',
    7,
  ];

  it.each(unsafe)('of a file of results is no part of a path: %j', async (id) => {
    const batch = { output_file_id: id, error_file_id: id };
    await using server = await startEnded((response) => response.end(answerOf('a')), { batch });

    const results = await collect(server.results());

    expect(results).toEqual([]);
    expect(server.paths()).toEqual(['/v1/batches/batch_1']);
  });

  it.each(
    (['chat', 'anthropic'] as const).flatMap((protocol) =>
      unsafe.map((id) => [protocol, id] as const),
    ),
  )('of a batch is refused, over %s: %j', async (protocol, id) => {
    await using server = await startFailingServer({
      answer: (response) => sendJson(response, { id, status: 'validating' }),
    });
    const lane = aLane({ protocol, endpoints: [server.url] });
    await using client = openClient(lane, undefined);
    const request = { customId: 'a', request: aModelRequest({ lane, maxTokens: 5 }) };

    const submitting = client.submit({ lane, batchId: 'b', requests: [request] }, never);

    await expect(submitting).rejects.toMatchObject({ code: 'truncated-response' });
  });
});

describe('the lines of a result file', () => {
  it('are read however they are cut into pieces, and without a last line feed', async () => {
    const text = `${answerOf('a', 'é')}\r\n\n${answerOf('b')}`;
    await using server = await startEnded((response) => {
      for (const byte of Buffer.from(text)) response.write(Buffer.of(byte));
      response.end();
    });

    const results = await collect(server.results());

    expect(results.map(({ customId }) => customId)).toEqual(['a', 'b']);
    expect(textOf(results[0])).toBe('é');
  });

  it('are passed over if they cannot be read, or do not say whose they are', async () => {
    await using server = await startEnded((response) => {
      response.end(['oops', '[]', '{"response":null}', answerOf('b')].join('\n'));
    });

    const results = await collect(server.results());

    expect(results.map(({ customId }) => customId)).toEqual(['b']);
  });

  it('tell refusals by their status or error, even with a status of success', async () => {
    const tooLong = { error: { message: 'too long', code: 'context_length_exceeded' } };
    await using server = await startEnded((response) => {
      const lines = [
        lineOf('a', { status_code: 400, body: tooLong }),
        lineOf('b', null, { code: 'batch_expired', message: 'late' }),
        lineOf('c', { status_code: 200, body: null }, { code: 'server_error', message: 'no' }),
        lineOf('d', { status_code: 200, body: {} }),
      ];
      response.end(lines.join('\n'));
    });

    const [a, b, c, d] = await collect(server.results());

    expect(a).toMatchObject({ kind: 'refused', error: { code: 'context-too-long' } });
    expect(b).toEqual({ customId: 'b', kind: 'expired' });
    expect(c).toMatchObject({ kind: 'refused' });
    expect(d).toMatchObject({ response: { fault: { code: 'truncated-response' } } });
  });

  it('are without the key of the lane', async () => {
    await using server = await startEnded((response) => response.end(answerOf('a', canary)), {
      key: canary,
    });

    const results = await collect(server.results());

    expect(JSON.stringify(results)).not.toContain(canary);
    expect(textOf(results[0])).toBe('[key]');
  });

  it('end with the failure of a connection that breaks', async () => {
    await using server = await startEnded((response) => {
      response.writeHead(200, { 'content-length': 100_000 });
      response.write(`${answerOf('a')}\n${answerOf('b')}`, () => response.destroy());
    });
    const read: string[] = [];

    const reading = (async () => {
      for await (const { customId } of server.results()) read.push(customId);
    })();

    await expect(reading).rejects.toMatchObject({ code: 'connection-failed' });
    expect(read).toEqual(['a']);
  });

  it('wait at the server until they are wanted', async () => {
    const line = `${answerOf('a', 'x'.repeat(64 * 1024))}\n`;
    const count = 1_500;
    let sentBytes = 0;
    await using server = await startEnded((response) => {
      const send = (): void => {
        while (sentBytes < count * line.length) {
          sentBytes += line.length;
          if (!response.write(line)) {
            response.once('drain', send);
            return;
          }
        }
        response.end();
      };
      send();
    });

    let readCount = 0;
    let mostAheadBytes = 0;
    for await (const _result of server.results()) {
      readCount += 1;
      mostAheadBytes = Math.max(mostAheadBytes, sentBytes - readCount * line.length);
      // The server and the connection have turns enough to fill the memory, if they may.
      for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    }

    expect(readCount).toBe(count);
    expect(mostAheadBytes).toBeLessThan(24 * 1024 * 1024);
  });

  it('all arrive of a file that is compressed, however slowly they are taken', async () => {
    const ids = Array.from({ length: 300 }, (_, index) => `q${index}`);
    const text = ids.map((id) => answerOf(id, 'x'.repeat(64 * 1024))).join('\n');
    await using server = await startEnded((response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(gzipSync(text));
    });

    const read: string[] = [];
    for await (const { customId } of server.results()) {
      read.push(customId);
      for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    }

    expect(read).toEqual(ids);
  });
});

describe('a batch that failed its validation', () => {
  it('ends with the first problem, and how many more there are', async () => {
    const data = [{ code: 'invalid_json_line', message: 'no JSON', line: 1 }, { code: 'x' }];
    await using server = await startEnded(() => undefined, {
      batch: { status: 'failed', output_file_id: null, errors: { object: 'list', data } },
    });

    expect(await server.poll()).toMatchObject({
      problem: { code: 'invalid-request', message: '400 no JSON (and 1 more)' },
    });
    expect(await collect(server.results())).toEqual([]);
  });

  // https://github.com/openai/openai-python/issues/2084 (2025-02)
  it('has met a rate limit if too many tokens are queued', async () => {
    const message =
      'Enqueued token limit reached for gpt-4o-mini in organization org-1. Limit: 2,000,000 enqueued tokens. Please try again once some in_progress batches have been completed.';
    const data = [{ code: 'token_limit_exceeded', line: null, message, param: null }];
    await using server = await startEnded(() => undefined, {
      batch: { status: 'failed', errors: { object: 'list', data } },
    });

    expect(await server.poll()).toMatchObject({ problem: { code: 'model-rate-limited' } });
  });
});
