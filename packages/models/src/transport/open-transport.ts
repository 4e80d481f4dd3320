import { type AgentOptions, Agent as HttpAgent, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { SecureContext } from 'node:tls';
import { HttpExchange } from './http-exchange.ts';
import type { HttpEndpoint, HttpRequest, HttpResponse, HttpTransport } from './http-transport.ts';
import { isLoopback } from './is-loopback.ts';
import { type Environment, openSecureContext, readProxies } from './network-environment.ts';

/**
 * How long an idle connection stays open, ms, unless the server's `keep-alive` header says less. Node and uvicorn,
 * which most model servers run on, close theirs after 5 s, and uvicorn does not say so; a request that meets the
 * closing is lost.
 * https://nodejs.org/api/http.html#serverkeepalivetimeout, https://www.uvicorn.org/settings/#timeouts (2026-11)
 */
const IDLE_MS = 4_000;
/**
 * How long a connection is silent before the system asks whether the other end still lives, ms. A model may take
 * minutes to its first byte, and networks forget silent connections: a NAT gateway of AWS after 350 s.
 * https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-troubleshooting.html (2026-11)
 */
const TCP_KEEP_ALIVE_MS = 60_000;
/**
 * How long one address of a host name may take before the next is tried, ms. Node's 250 ms are too short for a far
 * server, which then counts as unreachable: https://github.com/nodejs/node/issues/54359 (2024-08).
 */
const ADDRESS_ATTEMPT_MS = 2_000;
/** A connection that takes longer to open counts as failed, ms. */
const CONNECT_TIMEOUT_MS = 10_000;
/** The longest head of a response. Node's default of 16 KiB is less than some gateways add in cookies and policies. */
const MAX_HEAD_BYTES = 64 * 1024;

/** The dependencies of a transport. */
export interface TransportInit {
  /** Of the process: names proxies and certificate authorities; see {@link readProxies}, {@link openSecureContext}. */
  readonly environment: Environment;
  /** How long a connection may take to open, name look-up, proxy and TLS included, ms. @default 10_000 */
  readonly connectTimeoutMs?: number;
}

/**
 * Opens the transport of all requests to models: HTTP/1.1 over Node's own client, with as many connections per
 * server as there are requests in flight. Only opening a connection has a limit here; from then on a request may
 * take as long as its caller lets it.
 *
 * A loopback address is reached directly, whatever the environment says of proxies.
 */
export function openTransport(init: TransportInit): HttpTransport {
  return new NodeTransport(init);
}

class NodeTransport implements HttpTransport {
  readonly #environment: Environment;
  readonly #connectTimeoutMs: number;
  readonly #agents = new Map<string, HttpAgent>();
  #secureContext: SecureContext | undefined;

  constructor({ environment, connectTimeoutMs = CONNECT_TIMEOUT_MS }: TransportInit) {
    this.#environment = environment;
    this.#connectTimeoutMs = connectTimeoutMs;
  }

  open(url: string, endpointHeaders: Readonly<Record<string, string>>): HttpEndpoint {
    const { protocol, hostname, host, port, pathname, search } = new URL(url);
    const isTls = protocol === 'https:';
    const proxy = isLoopback(url)
      ? undefined
      : readProxies(this.#environment)[isTls ? 'https' : 'http'];
    const target = {
      agent: this.#agentFor(isTls, proxy),
      // An IPv6 address as sockets take it.
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port,
      path: pathname + search,
      maxHeaderSize: MAX_HEAD_BYTES,
    };
    const fixed = Object.entries({ host, ...endpointHeaders }).flat();
    const send = async (
      method: string,
      { headers, stop }: HttpRequest,
      body?: string,
    ): Promise<HttpResponse> => {
      const list = [...fixed];
      for (const name in headers) list.push(name, headers[name] ?? '');
      if (body !== undefined) list.push('content-length', String(Buffer.byteLength(body)));
      // A list is faster, but Node adds the credentials of a proxy only to an object.
      const sent = proxy === undefined ? list : toRecord(list);
      const request = (isTls ? requestHttps : requestHttp)({ ...target, method, headers: sent });
      const exchange = new HttpExchange(request, stop, this.#connectTimeoutMs);
      request.end(body);
      return await exchange.head;
    };
    return {
      post: async (request) => await send('POST', request, request.body),
      get: async (request) => await send('GET', request),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const agent of this.#agents.values()) agent.destroy();
    await Promise.resolve();
  }

  #agentFor(isTls: boolean, proxy: string | undefined): HttpAgent {
    const name = `${isTls} ${proxy ?? ''}`;
    const agent = this.#agents.get(name) ?? this.#openAgent(isTls, proxy);
    this.#agents.set(name, agent);
    return agent;
  }

  #openAgent(isTls: boolean, proxy: string | undefined): HttpAgent {
    const { noProxy } = readProxies(this.#environment);
    const options: AgentOptions & { secureContext?: SecureContext | undefined } = {
      keepAlive: true,
      keepAliveMsecs: TCP_KEEP_ALIVE_MS,
      maxFreeSockets: Number.POSITIVE_INFINITY,
      autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
      // For a proxy, Node also limits the opening of the tunnel by it.
      timeout: proxy === undefined ? IDLE_MS : this.#connectTimeoutMs,
      ...(proxy !== undefined && {
        proxyEnv: { [isTls ? 'https_proxy' : 'http_proxy']: proxy, no_proxy: noProxy },
      }),
    };
    if (!isTls) return new HttpAgent(options);
    this.#secureContext ??= openSecureContext(this.#environment);
    return new HttpsAgent({ ...options, secureContext: this.#secureContext });
  }
}

function toRecord(list: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let at = 0; at < list.length; at += 2) record[list[at] ?? ''] = list[at + 1] ?? '';
  return record;
}
