import { once } from 'node:events';
import type { Socket } from 'node:net';
import { brotliCompressSync, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { type Lane, type ModelRequest, type ModelResponse, ThriceError } from '@thrice/core';
import { openModelClients, openTransport } from '@thrice/models';
import { describe, expect, it } from 'vitest';
import { aLane, aModelRequest } from '../../support/builders.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aChunk, aCompletion, sendJson, startHttpServer } from '../../support/http-server.ts';
import { type RawServer, startRawServer, writeLazily } from '../../support/raw-server.ts';

const MEBIBYTE = 1024 * 1024;
const TEN_GIGABYTES = 10_000_000_000;
/** What a socket of this machine takes beyond what the other end has read. */
const SOCKET_BUFFER_BYTES = 16 * MEBIBYTE;
const canary = 'sk-canary-5f1e0c9a77d24b';
const usage = { prompt_tokens: 12, completion_tokens: 3 };
const ok = (headers = '') => `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${headers}\r\n`;

interface Server {
  readonly url: string;
}

async function sendTo(
  { url }: Server,
  parts: Partial<ModelRequest> = {},
  lane: Partial<Lane> = {},
): Promise<ModelResponse> {
  await using clients = openModelClients({
    keyOf: () => canary,
    clock: new FakeClock('2026-01-02T03:04:05.000Z'),
    transport: openTransport({ environment: {} }),
  });
  const request = aModelRequest({ lane: aLane({ endpoints: [url], ...lane }), ...parts });
  return await clients.clientFor(request.lane).send(request, new AbortController().signal);
}

/** The error that a call without a successful status ends with. */
async function refusalOf(sent: Promise<ModelResponse>): Promise<ThriceError> {
  const error = await sent.catch((thrown: unknown) => thrown);
  if (error instanceof ThriceError) return error;
  throw new Error('expected the call to be rejected with a ThriceError');
}

/** Answers each connection once, with bytes. */
async function startAnswering(...pieces: readonly (string | Buffer)[]): Promise<RawServer> {
  return await startRawServer((socket) => {
    for (const piece of pieces) socket.write(piece);
    socket.end();
  });
}

describe('a response of 10 GB', () => {
  /** Sends 10 GB after a head, and counts what the client takes. */
  async function startFlood(head: string, piece: Buffer) {
    let flood: { readonly sentBytes: number } = { sentBytes: 0 };
    const closed = Promise.withResolvers<void>();
    const server = await startRawServer((socket) => {
      socket.write(head);
      socket.once('close', () => closed.resolve());
      flood = writeLazily(socket, () => piece, TEN_GIGABYTES / piece.length);
    });
    return { server, closed: closed.promise, sentBytes: () => flood.sentBytes };
  }

  it.each([
    ['a JSON document', '{"choices": [{"message": {"content": "'],
    ['a page', '<html><body>'],
    ['white space', ' '],
    ['a line of a stream', 'data: {"choices": [{"delta": {"content": "'],
    ['an event of empty lines', 'data: x\n'],
  ])(
    'is read no further than 32 MiB: %s',
    async (_, start) => {
      const fill = start === ' ' ? ' ' : start.endsWith('\n') ? 'data:\n' : 'aaaaaa';
      const piece = Buffer.from(fill.repeat(10_000));
      const { server, closed, sentBytes } = await startFlood(ok() + start, piece);
      await using _server = server;

      const response = await sendTo(server);
      await closed;

      expect(response.fault).toMatchObject({
        code: 'truncated-response',
        class: 'transient',
        message: 'the body is longer than 32 MiB; the rest was not read',
      });
      expect(sentBytes()).toBeLessThan(32 * MEBIBYTE + SOCKET_BUFFER_BYTES);
      expect(JSON.stringify(response.raw).length).toBeLessThan(5 * MEBIBYTE);
      expect(response.usage.outputTokens).toBeNull();
    },
    60_000,
  );

  it('is read no further than 128 MiB where it is a stream of events', async () => {
    const event = `data: ${JSON.stringify(aChunk({ content: 'a'.repeat(100_000) }))}\n\n`;
    const { server, closed, sentBytes } = await startFlood(ok(), Buffer.from(event));
    await using _server = server;

    const response = await sendTo(server, { isStreamed: true });
    await closed;

    expect(response.fault).toMatchObject({
      code: 'truncated-response',
      message: 'the body is longer than 128 MiB; the rest was not read',
    });
    expect(sentBytes()).toBeLessThan(128 * MEBIBYTE + SOCKET_BUFFER_BYTES);
    expect(JSON.stringify(response.raw).length).toBeLessThan(5 * MEBIBYTE);
  }, 60_000);

  it('is read no further than 1 MiB where it explains a refusal', async () => {
    const head = 'HTTP/1.1 429 Too Many Requests\r\nretry-after: 3\r\n\r\n';
    const { server, closed, sentBytes } = await startFlood(head, Buffer.alloc(60_000, 'a'));
    await using _server = server;

    const error = await refusalOf(sendTo(server));
    await closed;

    expect(error).toMatchObject({ code: 'model-rate-limited', details: { retryAfterMs: 3_000 } });
    expect(sentBytes()).toBeLessThan(MEBIBYTE + SOCKET_BUFFER_BYTES);
  });
});

describe('a compressed response', () => {
  const body = JSON.stringify(aCompletion({ content: '42' }, { usage }));
  const encoders = {
    gzip: gzipSync,
    'x-gzip': gzipSync,
    br: brotliCompressSync,
    zstd: zstdCompressSync,
  };

  it.each(Object.entries(encoders))(
    'that inflates without end is cut off: %s',
    async (name, encode) => {
      const bomb = encode(Buffer.alloc(64 * MEBIBYTE, ' '));
      await using server = await startAnswering(ok(`content-encoding: ${name}\r\n`), bomb);

      const response = await sendTo(server);

      expect(response.fault?.message).toContain('is longer than 32 MiB');
      expect(JSON.stringify(response.raw).length).toBeLessThan(5 * MEBIBYTE);
    },
    60_000,
  );

  it('that never yields anything is cut off', async () => {
    // Empty blocks of deflate.
    const empty = Buffer.alloc(100_000);
    for (let at = 0; at < empty.length; at += 5) empty.writeUInt16LE(0xffff, at + 3);
    await using server = await startRawServer((socket) => {
      socket.write(ok('content-encoding: deflate\r\n'));
      writeLazily(socket, () => empty);
    });

    const { fault } = await sendTo(server);

    expect(fault?.message).toContain('is longer than 128 MiB');
  }, 60_000);

  it('of more encodings than anybody uses is not decoded', async () => {
    const encoding = `content-encoding: ${'gzip, '.repeat(30)}gzip\r\n`;
    await using server = await startAnswering(ok(encoding), gzipSync(body));

    expect((await sendTo(server)).fault).toMatchObject({
      code: 'truncated-response',
      message: 'the body has the content-encoding 31 encodings, which cannot be decoded',
    });
  });

  it('of an unknown encoding is not read as something else', async () => {
    await using server = await startAnswering(ok('content-encoding: lzma\r\n'), body);

    expect((await sendTo(server)).fault?.message).toBe(
      'the body has the content-encoding "lzma", which cannot be decoded',
    );
  });

  it.each([
    ['damaged', Buffer.concat([gzipSync(body).subarray(0, 20), Buffer.from('damaged, damaged')])],
    ['cut off', gzipSync(body).subarray(0, 60)],
  ])('that is %s is a fault', async (_, bytes) => {
    await using server = await startAnswering(ok('content-encoding: gzip\r\n'), bytes);

    expect((await sendTo(server)).fault).toMatchObject({ code: 'truncated-response' });
  });

  it('is read as far as it arrived before the connection broke', async () => {
    const events = [aChunk({ content: '4' }), aChunk({ content: '2' }, 'stop')];
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    await using server = await startAnswering(
      ok('content-encoding: gzip\r\ncontent-length: 9999\r\n'),
      gzipSync(text),
    );

    const { fault, output } = await sendTo(server, { isStreamed: true });

    expect([fault, output.text]).toEqual([undefined, '42']);
  });

  it.each([
    ['raw deflate, as some servers send it', 'deflate', deflateRawSync(body)],
    ['an encoding that is not named', 'identity', gzipSync(body)],
    ['an encoding that the body does not have', 'gzip', Buffer.from(body)],
    ['another encoding than is named', 'br', gzipSync(body)],
    ['two encodings', 'br, gzip', gzipSync(brotliCompressSync(body))],
  ])('is read by what it is: %s', async (_, encoding, bytes) => {
    await using server = await startAnswering(ok(`content-encoding: ${encoding}\r\n`), bytes);

    const { fault, output } = await sendTo(server);

    expect([fault, output.text]).toEqual([undefined, '42']);
  });
});

describe('a response without an end', () => {
  const timeoutMs = 300;

  it('is stopped at the timeout of the lane, as far as it arrived, where it is silent', async () => {
    await using server = await startRawServer((socket) => {
      socket.write(`${ok()}{"choices": [`);
    });

    const response = await sendTo(server, {}, { timeoutMs });

    expect(response.fault).toMatchObject({ code: 'model-timeout', class: 'transient' });
    expect(response.raw).toEqual({ text: '{"choices": [' });
  });

  it('is stopped at the timeout of the lane where it drips', async () => {
    await using server = await startRawServer((socket) => {
      socket.write(ok());
      const dripping = setInterval(() => socket.write(' '), 20);
      socket.once('close', () => clearInterval(dripping));
    });

    const response = await sendTo(server, {}, { timeoutMs });

    expect(response.fault).toMatchObject({ code: 'model-timeout' });
  });

  it('is stopped at the timeout of the lane where only heartbeats come', async () => {
    await using server = await startRawServer((socket) => {
      socket.write(ok());
      const beating = setInterval(() => socket.write(': ping\n\n'), 20);
      socket.once('close', () => clearInterval(beating));
    });

    const response = await sendTo(server, { isStreamed: true }, { timeoutMs });

    expect(response.fault).toMatchObject({ code: 'model-timeout' });
  });

  it.each([
    ['its end mark', 'data: [DONE]\n\n'],
    ['an error', `data: ${JSON.stringify({ error: { code: 503, message: 'gone' } })}\n\n`],
  ])('is over after %s, though the server leaves the connection open', async (_, last) => {
    const event = `data: ${JSON.stringify(aChunk({ content: '42' }, 'stop'))}\n\n`;
    let closed: Promise<unknown> = Promise.resolve();
    await using server = await startRawServer((socket) => {
      closed = once(socket, 'close');
      socket.write(ok() + event + last);
    });

    const { output } = await sendTo(server, { isStreamed: true });

    expect(output.text).toBe('42');
    await closed;
  });

  it('is the answer where the model has ended it, though nothing follows until the timeout', async () => {
    const event = `data: ${JSON.stringify(aChunk({ content: '42' }, 'stop'))}\n\n`;
    await using server = await startRawServer((socket) => {
      socket.write(ok() + event);
    });

    const response = await sendTo(server, { isStreamed: true }, { timeoutMs });

    expect(response.fault).toBeUndefined();
    expect(response).toMatchObject({ output: { text: '42' }, usage: { outputTokens: null } });
  });
});

describe('a head of a response', () => {
  it.each([
    ['one header of 1 MB', `x-large: ${'a'.repeat(1_000_000)}\r\n`],
    ['100,000 headers', 'x-many: a\r\n'.repeat(100_000)],
  ])('that is too long is no answer: %s', async (_, headers) => {
    await using server = await startAnswering(ok(headers), '{}');

    const error = await refusalOf(sendTo(server));

    expect(error).toMatchObject({ code: 'truncated-response', class: 'transient' });
    expect(error.message).toContain('the head of the response is longer than 64 KiB');
  });

  it('of 60 KB is read', async () => {
    const body = JSON.stringify(aCompletion());
    await using server = await startAnswering(ok(`x-large: ${'a'.repeat(60_000)}\r\n`), body);

    expect((await sendTo(server)).output.text).toBe('42');
  });

  it.each([
    ['of another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ['with two lengths', ok('content-length: 5\r\ncontent-length: 6\r\n')],
    ['with a length and chunks', ok('content-length: 5\r\ntransfer-encoding: chunked\r\n')],
  ])('%s is no answer', async (_, head) => {
    await using server = await startAnswering(head, '{}');

    const error = await refusalOf(sendTo(server));

    expect(error).toMatchObject({ code: 'truncated-response', class: 'transient' });
    expect(error.message).toContain('the response is not HTTP');
  });

  it('that offers another protocol is no answer', async () => {
    const head = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n';
    await using server = await startAnswering(head);

    expect(await refusalOf(sendTo(server))).toMatchObject({ class: 'transient' });
  });
});

describe('a redirect', () => {
  it.each([301, 302, 303, 307, 308])(
    'is refused, and the key is sent nowhere else: %i',
    async (status) => {
      await using elsewhere = await startRawServer(() => undefined, '127.0.0.2');
      const location = `${elsewhere.url}/chat/completions?session=secret`;
      await using server = await startHttpServer((response) =>
        sendJson(response, '', { status, headers: { location } }),
      );

      const error = await refusalOf(sendTo(server));

      expect(error).toMatchObject({
        code: 'endpoint-unreachable',
        class: 'misconfigured',
        message: `${status} the endpoint redirects to ${elsewhere.url}/chat/completions, which is not followed, because a key was sent: correct the base URL`,
      });
      expect(elsewhere.connectionCount).toBe(0);
      expect(server.requests.length).toBe(1);
    },
  );

  it('to a path is named as a URL', async () => {
    await using server = await startHttpServer((response) =>
      sendJson(response, '', { status: 308, headers: { location: '/login' } }),
    );

    const error = await refusalOf(sendTo(server));

    expect(error.message).toContain(`redirects to http://127.0.0.1:${server.port}/login, which`);
  });

  it('to something that is no URL, with the key, does not print the key', async () => {
    const headers = { location: `http://[${canary}` };
    await using server = await startHttpServer((response) =>
      sendJson(response, '', { status: 302, headers }),
    );

    const error = await refusalOf(sendTo(server));

    expect(error.code).toBe('endpoint-unreachable');
    expect(error.message).not.toContain(canary);
  });
});

describe('a connection', () => {
  const body = JSON.stringify(aCompletion({ content: '42' }, { usage }));

  it('that is reset before the response is no answer', async () => {
    await using server = await startRawServer((socket) => socket.resetAndDestroy());

    const error = await refusalOf(sendTo(server));

    expect(error).toMatchObject({ code: 'connection-failed', class: 'transient' });
  });

  it('that is closed before the response is no answer', async () => {
    await using server = await startRawServer((socket) => socket.end());

    expect(await refusalOf(sendTo(server))).toMatchObject({ code: 'connection-failed' });
  });

  it('that is closed within the head is no answer', async () => {
    await using server = await startAnswering('HTTP/1.1 200 OK\r\ncontent-ty');

    expect(await refusalOf(sendTo(server))).toMatchObject({ class: 'transient' });
  });

  it('that is reset within the body is a fault', async () => {
    await using server = await startRawServer((socket) => {
      socket.write(`${ok('content-length: 100\r\n')}{"a":`, () => socket.resetAndDestroy());
    });

    // The reset may overtake the head.
    const error = await sendTo(server).then(
      ({ fault }) => fault,
      (thrown: unknown) => thrown,
    );

    expect(error).toMatchObject({ code: 'connection-failed' });
  });

  it.each([
    ['kept', 'content-length: 99999\r\n'],
    ['closed', 'connection: close\r\ncontent-length: 99999\r\n'],
  ])(
    'that was to be %s, whose body is shorter than its length, is read as far as it goes',
    async (_, headers) => {
      await using server = await startAnswering(ok(headers), body);

      const { fault, output } = await sendTo(server);

      expect([fault, output.text]).toEqual([undefined, '42']);
    },
  );

  it('whose body is longer than its length is read to its length, and not used again', async () => {
    const bytes = Buffer.byteLength(body);
    await using server = await startRawServer((socket) => {
      socket.write(`${ok(`content-length: ${bytes}\r\n`)}${body}${ok('content-length: 2\r\n')}{}`);
    });

    const first = await sendTo(server);
    const second = await sendTo(server);

    expect([first.output.text, second.output.text]).toEqual(['42', '42']);
    expect(server.connectionCount).toBe(2);
  });

  it.each([
    ['kept', ''],
    ['closed', 'connection: close\r\n'],
  ])(
    'that was to be %s, whose last chunk is missing, is read as far as it goes',
    async (_, headers) => {
      const chunk = `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;
      const head = ok(`${headers}transfer-encoding: chunked\r\n`);
      await using server = await startAnswering(head, chunk);

      expect((await sendTo(server)).output.text).toBe('42');
    },
  );

  it('that the server closes as the next request is sent loses that request, which is not repeated', async () => {
    const requests: string[] = [];
    await using server = await startRawServer((socket: Socket, piece) => {
      requests.push(piece.toString('latin1'));
      if (requests.length === 2) socket.destroy();
      else socket.write(`${ok(`content-length: ${Buffer.byteLength(body)}\r\n`)}${body}`);
    });
    await using clients = openModelClients({
      keyOf: () => undefined,
      clock: new FakeClock('2026-01-02T03:04:05.000Z'),
      transport: openTransport({ environment: {} }),
    });
    const request = aModelRequest({ lane: aLane({ endpoints: [server.url] }) });
    const send = () => clients.clientFor(request.lane).send(request, new AbortController().signal);
    await send();
    // Through the poll phase of the event loop, in which the connection becomes free.
    await sendTo(await startAnswering(ok(), body));

    const error = await refusalOf(send());

    expect(error).toMatchObject({ code: 'connection-failed', class: 'transient' });
    expect([server.connectionCount, requests.length]).toEqual([1, 2]);
  });

  it('may take longer to answer than to open', async () => {
    const answering = Promise.withResolvers<void>();
    await using server = await startRawServer((socket) => {
      setTimeout(() => {
        socket.write(ok(`content-length: ${Buffer.byteLength(body)}\r\n`) + body);
        answering.resolve();
      }, 200);
    });
    await using transport = openTransport({ environment: {}, connectTimeoutMs: 100 });

    const response = await transport
      .open(server.url, {})
      .post({ body: '{}', stop: { onStop: () => undefined } });
    await response.readBody(MEBIBYTE, () => false);

    expect(response.status).toBe(200);
  });

  it('that is being opened ends with the transport', async () => {
    const connected = Promise.withResolvers<Promise<unknown>>();
    // Accepts, but never shakes hands.
    await using server = await startRawServer((socket) => connected.resolve(once(socket, 'close')));
    const transport = openTransport({ environment: {} });
    const posted = transport
      .open(server.url.replace('http:', 'https:'), {})
      .post({ body: '{}', stop: { onStop: () => undefined } });
    const failed = posted.catch((error: unknown) => error);
    const closed = await connected.promise;

    await transport[Symbol.asyncDispose]();

    expect(await failed).toMatchObject({ code: 'connection-failed' });
    await closed;
  });

  it('that does not open in time is an error of its own', async () => {
    // Accepts, but never shakes hands.
    await using server = await startRawServer(() => undefined);
    await using transport = openTransport({ environment: {}, connectTimeoutMs: 50 });

    const posted = transport
      .open(server.url.replace('http:', 'https:'), {})
      .post({ body: '{}', stop: { onStop: () => undefined } });

    await expect(posted).rejects.toMatchObject({
      code: 'connection-failed',
      message: 'no connection within 0.05 s',
    });
  });
});
