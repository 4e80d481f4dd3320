import type { Dispatcher } from 'undici';
// The agent alone: the package's index also loads its fetch, caches, mocks and web sockets, for 40 ms of processor time.
import Agent from 'undici/lib/dispatcher/agent.js';
import type { HttpResponse, HttpTransport } from './http-transport.ts';

/** The call itself enforces its timeout, not the pool. */
const NO_TIMEOUT = 0;
/** How long an idle connection stays open, ms, unless the server's `keep-alive` header says otherwise. */
const KEEP_ALIVE_MS = 30_000;

/**
 * Creates a transport over undici's pool, with as many connections per origin as there are requests in flight.
 *
 * It uses the lowest level of undici: a request costs a fraction of one through `fetch`. A request that fails is
 * not sent again, not even on a kept connection that the server was closing: the server may have received it.
 */
export function createPooledTransport(): HttpTransport {
  const agent = new Agent({
    headersTimeout: NO_TIMEOUT,
    bodyTimeout: NO_TIMEOUT,
    keepAliveTimeout: KEEP_ALIVE_MS,
  });
  return {
    open: (url, endpointHeaders) => {
      const { origin, pathname, search } = new URL(url);
      const path = pathname + search;
      const fixedHeaders = Object.entries(endpointHeaders).flat();
      return {
        post: async ({ body, headers, stop }) => {
          const response = new PooledResponse();
          const added = headers === undefined ? [] : Object.entries(headers).flat();
          stop.onStop(() => response.stop());
          agent.dispatch(
            { origin, path, method: 'POST', headers: [...fixedHeaders, ...added], body },
            response,
          );
          return await response.head;
        },
      };
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

/**
 * One request, as undici reports its progress.
 *
 * States: waiting for a connection; started; head received; ended or failed. A failure before the head rejects it,
 * a later one ends the body.
 */
class PooledResponse implements Dispatcher.DispatchHandler, HttpResponse {
  status = 0;
  headers: HttpResponse['headers'] = {};
  readonly body: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: () => this.#read() };
  readonly #head = Promise.withResolvers<HttpResponse>();
  readonly #pieces: Uint8Array[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #isEnded = false;
  #failure: Error | undefined;
  #wake: () => void = () => undefined;

  /** Resolves when the head has arrived. */
  get head(): Promise<HttpResponse> {
    return this.#head.promise;
  }

  /** Closes the connection of a request that has not ended. */
  stop(): void {
    // An error costs more than all else that this class does for a request.
    if (!this.#isEnded) this.#fail(new Error('the request was stopped'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#failure !== undefined) controller.abort(this.#failure);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: HttpResponse['headers'],
  ): void {
    // The head of an informational response; the real one follows.
    if (status < 200) return;
    this.status = status;
    this.headers = headers;
    this.#head.resolve(this);
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#pieces.push(piece);
    this.#wake();
  }

  onResponseEnd(): void {
    this.#isEnded = true;
    this.#wake();
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#fail(error);
  }

  #fail(error: Error): void {
    if (this.#isEnded || this.#failure !== undefined) return;
    this.#failure = error;
    this.#head.reject(error);
    this.#wake();
    this.#controller?.abort(error);
  }

  async *#read(): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) {
        yield* this.#pieces.splice(0);
        if (this.#pieces.length > 0) continue;
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#isEnded) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.stop();
    }
  }
}
