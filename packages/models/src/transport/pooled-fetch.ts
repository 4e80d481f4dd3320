import { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';

/** The call's own signal enforces its timeout, not the pool. */
const NO_TIMEOUT = 0;
/** How long an idle connection stays open, ms, unless the server's `keep-alive` header says otherwise. */
const KEEP_ALIVE_MS = 30_000;

/** A `fetch` over pooled keep-alive connections. */
export interface PooledFetch extends AsyncDisposable {
  readonly fetch: typeof fetch;
}

/**
 * Creates a `fetch` that uses undici's pool directly.
 *
 * The standard `fetch` wraps every body in web streams. A JSON body needs none, and a call costs about
 * half without them. Except for event streams, the body is read before the promise resolves, so that a
 * connection that breaks in the middle of it fails the fetch.
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
        headers: init?.headers instanceof Headers ? init.headers : new Headers(init?.headers),
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
 * Returns the part of a `Response` that the `openai` package uses for a body that is not streamed.
 *
 * A real `Response` costs as much as the request: it wraps the text in a stream and registers that with
 * the garbage collector. The client's tests cover every kind of answer and error with this one.
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
