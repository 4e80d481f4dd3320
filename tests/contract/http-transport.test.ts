import { once } from 'node:events';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { ThriceError } from '@thrice/core';
import { openTransport } from '@thrice/models';
import { describe, expect, it } from 'vitest';
import type { HttpResponse } from '../../packages/models/src/transport/http-transport.ts';
import { type HttpServer, sendJson, startHttpServer } from '../support/http-server.ts';
import { settledBy } from '../support/settled-by.ts';

/** Stops nothing. */
const running = { onStop: () => undefined };

/** Stops a request when a test says so. */
function aStopSource() {
  const listeners: (() => void)[] = [];
  return {
    onStop: (listener: () => void) => {
      listeners.push(listener);
    },
    stop: () => {
      for (const listener of listeners) listener();
    },
  };
}

const MEBIBYTE = 1024 * 1024;

/** A body as far as it arrived, and why the rest did not. */
async function readAll(response: HttpResponse): Promise<{ text: string; failure: unknown }> {
  let text = '';
  const failure = await response.readBody(MEBIBYTE, (piece) => {
    text += piece.toString();
    return false;
  });
  return { text, failure };
}

/** Sends a part of a body whose length is known. */
async function startCutServer(onSent: (socket: Socket | null) => void): Promise<HttpServer> {
  return await startHttpServer((response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
    response.write('{"id":', () => onSent(response.socket));
  });
}

const createTransport = () => openTransport({ environment: {} });

describe('the HTTP transport', () => {
  it('posts the body with the headers of the endpoint and of the request', async () => {
    await using server = await startHttpServer((response) => sendJson(response, { ok: true }));
    await using transport = createTransport();
    const endpoint = transport.open(`${server.url}/chat?version=2`, { 'x-endpoint': 'a' });

    const response = await endpoint.post({
      body: '{"q":"é"}',
      headers: { 'x-request': 'b' },
      stop: running,
    });

    expect(await readAll(response)).toEqual({ text: '{"ok":true}', failure: undefined });
    expect(server.requests).toMatchObject([
      {
        path: '/v1/chat?version=2',
        headers: { 'x-endpoint': 'a', 'x-request': 'b' },
        body: { q: 'é' },
      },
    ]);
  });

  it('returns any status with its headers, and follows no redirect', async () => {
    await using server = await startHttpServer((response) =>
      sendJson(response, '', { status: 307, headers: { location: '/v1/other', 'x-limit': '7' } }),
    );
    await using transport = createTransport();

    const response = await transport.open(server.url, {}).post({ body: '{}', stop: running });

    expect(response).toMatchObject({ status: 307, headers: { 'x-limit': '7' } });
    expect(await readAll(response)).toEqual({ text: '', failure: undefined });
    expect(server.requests.length).toBe(1);
  });

  it('returns an empty body for a response that has none', async () => {
    await using server = await startHttpServer((response) => {
      response.writeHead(204);
      response.end();
    });
    await using transport = createTransport();

    const response = await transport.open(server.url, {}).post({ body: '{}', stop: running });

    expect(response.status).toBe(204);
    expect(await readAll(response)).toEqual({ text: '', failure: undefined });
  });

  it('skips informational responses', async () => {
    await using server = await startHttpServer((response) => {
      response.writeProcessing();
      // In a packet of its own.
      void settledBy(new Promise(() => undefined)).then(() => sendJson(response, { ok: true }));
    });
    await using transport = createTransport();

    const response = await transport.open(server.url, {}).post({ body: '{}', stop: running });

    expect(response.status).toBe(200);
    expect((await readAll(response)).text).toBe('{"ok":true}');
  });

  it('passes on the first piece of a body before the last is sent', async () => {
    let sendRest: () => void = () => undefined;
    await using server = await startHttpServer((response) => {
      response.writeHead(200);
      response.write('first');
      sendRest = () => response.end(' last');
    });
    await using transport = createTransport();

    const response = await transport.open(server.url, {}).post({ body: '{}', stop: running });

    let text = '';
    await response.readBody(MEBIBYTE, (piece) => {
      text += piece.toString();
      sendRest();
      return false;
    });
    expect(text).toBe('first last');
  });

  it('reports where a body breaks off, after all that arrived', async () => {
    await using server = await startCutServer((socket) => socket?.end());
    await using transport = createTransport();

    const response = await transport.open(server.url, {}).post({ body: '{}', stop: running });

    const { text, failure } = await readAll(response);
    expect(text).toBe('{"id":');
    expect(failure).toMatchObject({ code: 'connection-failed' });
  });

  it('rejects a request that is stopped before its response', async () => {
    const stop = aStopSource();
    let closed: Promise<unknown> = Promise.resolve();
    await using server = await startHttpServer((response) => {
      closed = once(response, 'close');
      stop.stop();
    });
    await using transport = createTransport();

    const posted = transport.open(server.url, {}).post({ body: '{}', stop });

    await expect(posted).rejects.toThrow();
    // The connection is closed, so the server can stop working on it.
    await closed;
  });

  it('ends the body of a request that is stopped, after all that arrived', async () => {
    const stop = aStopSource();
    let closed: Promise<unknown> = Promise.resolve();
    await using server = await startHttpServer((response) => {
      closed = once(response, 'close');
      response.writeHead(200);
      response.write('first');
    });
    await using transport = createTransport();
    const response = await transport.open(server.url, {}).post({ body: '{}', stop });

    let text = '';
    const failure = await response.readBody(MEBIBYTE, (piece) => {
      text += piece.toString();
      stop.stop();
      return false;
    });

    expect(failure).toMatchObject({ code: 'connection-failed' });
    expect(text).toBe('first');
    await closed;
  });

  it('closes the connection of a body whose reader throws', async () => {
    let closed: Promise<unknown> = Promise.resolve();
    await using server = await startHttpServer((response) => {
      closed = once(response, 'close');
      response.writeHead(200);
      response.write('first');
    });
    await using transport = createTransport();
    const response = await transport.open(server.url, {}).post({ body: '{}', stop: running });

    const failure = await response.readBody(MEBIBYTE, () => {
      throw new ThriceError({ code: 'truncated-response', message: 'enough' });
    });

    expect(failure).toMatchObject({ message: 'enough' });
    await closed;
  });

  it('reads no more than its reader needs, and uses the connection again if the body ends', async () => {
    await using server = await startHttpServer((response) => {
      response.writeHead(200);
      response.write('data: [DONE]\n\n');
      response.end();
    });
    await using transport = createTransport();
    const endpoint = transport.open(server.url, {});

    const texts: string[] = [];
    for (let call = 0; call < 2; call += 1) {
      const response = await endpoint.post({ body: '{}', stop: running });
      const failure = await response.readBody(MEBIBYTE, (piece) => {
        texts.push(piece.toString());
        return true;
      });
      expect(failure).toBeUndefined();
      // The connection is free a turn later.
      await settledBy(new Promise(() => undefined));
    }

    expect(texts).toEqual(['data: [DONE]\n\n', 'data: [DONE]\n\n']);
    expect(new Set(server.remotePorts).size).toBe(1);
  });

  it.each([
    ['as it arrives', undefined, Buffer.alloc(2 * MEBIBYTE, 'a')],
    ['decoded', 'gzip', gzipSync(Buffer.alloc(2 * MEBIBYTE, 'a'))],
  ])('ends a body that is longer than it may be, %s', async (_, encoding, body) => {
    await using server = await startHttpServer((response) => {
      response.writeHead(200, encoding === undefined ? {} : { 'content-encoding': encoding });
      response.end(body);
    });
    await using transport = createTransport();

    const response = await transport.open(server.url, {}).post({ body: '{}', stop: running });
    const { text, failure } = await readAll(response);

    expect(failure).toMatchObject({
      code: 'truncated-response',
      message: 'the body is longer than 1 MiB; the rest was not read',
    });
    expect(text.length).toBeLessThanOrEqual(MEBIBYTE);
  });

  it('rejects a request to a server that accepts no connection', async () => {
    const server = await startHttpServer(() => undefined);
    await server[Symbol.asyncDispose]();
    await using transport = createTransport();

    const posted = transport.open(server.url, {}).post({ body: '{}', stop: running });

    await expect(posted).rejects.toThrow();
  });

  it('uses a connection again, and does not repeat a request that it loses', async () => {
    let connectionCount = 0;
    const received: string[] = [];
    const server = createTcpServer((socket) => {
      connectionCount += 1;
      socket.on('error', () => undefined);
      socket.on('data', (data) => {
        received.push(data.toString());
        // Closes the kept connection just as the second request arrives on it.
        if (received.length === 2) socket.destroy();
        else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await using transport = createTransport();
    const endpoint = transport.open(`http://127.0.0.1:${port}/v1`, {});

    await readAll(await endpoint.post({ body: '{"n":1}', stop: running }));
    // The connection is free a turn later.
    await settledBy(new Promise(() => undefined));
    const lost = endpoint.post({ body: '{"n":2}', stop: running });

    await expect(lost).rejects.toThrow();
    expect([connectionCount, received.length]).toEqual([1, 2]);
    server.close();
  });
});
