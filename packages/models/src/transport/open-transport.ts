import type { SecureContext } from 'node:tls';
// The agent alone: the package's index also loads its fetch, caches, mocks and web sockets, at each start and into
// the bundles of functions.
import Agent from 'undici/lib/dispatcher/agent.js';
import { HttpExchange } from './http-exchange.ts';
import type { HttpEndpoint, HttpRequest, HttpResponse, HttpTransport } from './http-transport.ts';
import { type Environment, findProxy, openSecureContext } from './network-environment.ts';
import { createConnector } from './open-connection.ts';
import { proxyCredentials } from './open-tunnel.ts';

/**
 * How long an idle connection stays open, ms, unless the server's `keep-alive` header says less. Node and uvicorn,
 * which most model servers run on, close theirs after 5 s, and uvicorn does not say so; a request that meets the
 * closing is lost.
 * https://nodejs.org/api/http.html#serverkeepalivetimeout, https://www.uvicorn.org/settings/#timeouts (2026-11)
 */
const IDLE_MS = 4_000;
/** A connection that takes longer to open counts as failed, ms. */
const CONNECT_TIMEOUT_MS = 10_000;
/** The longest head of a response. Node's default of 16 KiB is less than some gateways add in cookies and policies. */
const MAX_HEAD_BYTES = 64 * 1024;
/** The call itself enforces its timeout, not the pool. */
const NO_TIMEOUT = 0;

/** The dependencies of a transport. */
export interface TransportInit {
  /** Of the process: names proxies and certificate authorities; see {@link findProxy}, {@link openSecureContext}. */
  readonly environment: Environment;
  /** How long a connection may take to open, name look-up, proxy and TLS included, ms. @default 10_000 */
  readonly connectTimeoutMs?: number;
}

/**
 * Opens the transport of all requests to models: HTTP/1.1 over undici's pool, with as many connections per server as
 * there are requests in flight. Only opening a connection has a limit here; from then on a request may take as long
 * as its caller lets it.
 *
 * It uses the lowest level of undici: a request costs a fraction of one through `fetch`.
 */
export function openTransport(init: TransportInit): HttpTransport {
  return new PooledTransport(init);
}

class PooledTransport implements HttpTransport {
  readonly #environment: Environment;
  readonly #connectTimeoutMs: number;
  readonly #closing = new AbortController();
  /** By whether they need certificates, and by the proxy of their tunnels. */
  readonly #agents = new Map<string, Agent>();
  #secureContext: SecureContext | undefined;

  constructor({ environment, connectTimeoutMs = CONNECT_TIMEOUT_MS }: TransportInit) {
    this.#environment = environment;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  open(url: string, endpointHeaders: Readonly<Record<string, string>>): HttpEndpoint {
    const target = new URL(url);
    const { agent, origin, path, routeHeaders } = this.#findRoute(target);
    const fixed = Object.entries({ ...routeHeaders, ...endpointHeaders }).flat();
    const send = async (
      method: 'GET' | 'POST',
      { headers, stop }: HttpRequest,
      body?: string,
    ): Promise<HttpResponse> => {
      const sent = [...fixed];
      for (const name in headers) sent.push(name, headers[name] ?? '');
      const exchange = new HttpExchange(stop);
      agent.dispatch({ origin, path, method, headers: sent, body: body ?? null }, exchange);
      return await exchange.head;
    };
    return {
      post: async (request) => await send('POST', request, request.body),
      get: async (request) => await send('GET', request),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the transport is closed'));
    await Promise.all(Array.from(this.#agents.values(), (agent) => agent.destroy()));
  }

  /** A proxy forwards requests in plain HTTP; for others it opens a tunnel, which is an agent's business. */
  #findRoute(target: URL) {
    const { origin, host, pathname, search } = target;
    const path = pathname + search;
    const proxy = findProxy(target, this.#environment);
    if (proxy === undefined || target.protocol === 'https:') {
      return { agent: this.#agentFor(target, proxy), origin, path, routeHeaders: {} };
    }
    return {
      agent: this.#agentFor(proxy, undefined),
      origin: proxy.origin,
      path: origin + path,
      routeHeaders: { host, ...proxyCredentials(proxy) },
    };
  }

  #agentFor(server: URL, tunnelProxy: URL | undefined): Agent {
    const usesTls = server.protocol === 'https:';
    const name = `${usesTls} ${tunnelProxy?.href ?? ''}`;
    const agent = this.#agents.get(name) ?? this.#openAgent(usesTls, tunnelProxy);
    this.#agents.set(name, agent);
    return agent;
  }

  #openAgent(usesTls: boolean, tunnelProxy: URL | undefined): Agent {
    if (usesTls) this.#secureContext ??= openSecureContext(this.#environment);
    return new Agent({
      connect: createConnector({
        tunnelProxy,
        secureContext: this.#secureContext,
        timeoutMs: this.#connectTimeoutMs,
        closing: this.#closing.signal,
      }),
      allowH2: false,
      headersTimeout: NO_TIMEOUT,
      bodyTimeout: NO_TIMEOUT,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
    });
  }
}
