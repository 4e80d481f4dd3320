import { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';

/** Headers and bodies are timed by the call's own signal, not by the pool. */
const NO_TIMEOUT = 0;
/** An idle connection is kept this long, ms; a server's own hint wins. */
const KEEP_ALIVE_MS = 30_000;

/** A `fetch` over pooled keep-alive connections. */
export interface PooledFetch extends AsyncDisposable {
  readonly fetch: typeof fetch;
}

/**
 * A `fetch` that speaks to undici's pool directly.
 *
 * The standard one builds web streams around every body; a whole JSON answer needs none of them, and
 * without them a call costs about half. A whole body is read before the promise resolves, so that a
 * connection cut in the middle is a failed fetch. Bodies of event streams are passed on as they come.
 */
export function createPooledFetch(): PooledFetch {
  const agent = new Agent({
    headersTimeout: NO_TIMEOUT,
    bodyTimeout: NO_TIMEOUT,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  return {
    fetch: async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      const response = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: init?.method === 'POST' ? 'POST' : 'GET',
        headers: [...new Headers(init?.headers)].flat(),
        body: typeof init?.body === 'string' ? init.body : null,
        signal: init?.signal ?? null,
      });
      const isStream = String(response.headers['content-type']).startsWith('text/event-stream');
      return isStream ? streamedResponse(response) : await wholeResponse(response, url.href);
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

function streamedResponse(response: Dispatcher.ResponseData): Response {
  return new Response(Readable.toWeb(response.body) as ReadableStream, {
    status: response.statusCode,
    headers: flattenHeaders(response.headers),
  });
}

/**
 * The part of a `Response` that the `openai` package reads for a whole body.
 *
 * A real one costs as much as the request: it wraps the text in a stream and registers that with the
 * garbage collector. The client's tests pass every kind of answer and error through this.
 */
async function wholeResponse(response: Dispatcher.ResponseData, url: string): Promise<Response> {
  const text = await response.body.text();
  const status = response.statusCode;
  const whole: Pick<Response, 'status' | 'ok' | 'url' | 'headers' | 'body' | 'text'> = {
    status,
    ok: status >= 200 && status < 300,
    url,
    headers: new Headers(flattenHeaders(response.headers)),
    body: null,
    text: async () => text,
  };
  return whole as Response;
}

function flattenHeaders(headers: Dispatcher.ResponseData['headers']): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
  );
}
