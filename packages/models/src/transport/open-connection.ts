import { once } from 'node:events';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import type { buildConnector } from 'undici';
import { openTunnel } from './open-tunnel.ts';

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

/** How connections are opened. */
export interface ConnectorInit {
  /** The proxy whose tunnel leads to the server; undefined to connect directly. */
  readonly tunnelProxy: URL | undefined;
  /** What certificates are checked against; undefined for what Node trusts. */
  readonly secureContext: SecureContext | undefined;
  /** Name look-up, proxy and TLS included, ms. */
  readonly timeoutMs: number;
  /** Ends every connection, also one that is being opened. */
  readonly closing: AbortSignal;
}

/** Creates what opens a pool's connections; see {@link ConnectorInit}. */
export function createConnector(init: ConnectorInit): buildConnector.connector {
  return (server, callback) => {
    openConnection(server, init).then(
      (socket) => callback(null, socket),
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), null),
    );
  };
}

async function openConnection(
  { protocol, hostname, port }: buildConnector.Options,
  { tunnelProxy, secureContext, timeoutMs, closing }: ConnectorInit,
): Promise<Socket> {
  const limit = new AbortController();
  const timer = setTimeout(() => {
    limit.abort(new Error(`no connection within ${timeoutMs / 1000} s`));
  }, timeoutMs);
  const options = {
    host: hostname,
    port: Number(port === '' ? DEFAULT_PORTS[protocol] : port),
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    noDelay: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
    signal: AbortSignal.any([limit.signal, closing]),
  };
  const tls = {
    ...options,
    // An address is no name of a server.
    servername: isIP(hostname) === 0 ? hostname : '',
    secureContext,
  };
  try {
    if (protocol === 'http:') return await opened(connect(options), 'connect');
    if (tunnelProxy === undefined) return await opened(connectTls(tls), 'secureConnect');
    const tunnel = await openTunnel(tunnelProxy, options, secureContext);
    return await opened(connectTls({ ...tls, socket: tunnel }), 'secureConnect');
  } finally {
    clearTimeout(timer);
  }
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

async function opened(socket: Socket, event: 'connect' | 'secureConnect'): Promise<Socket> {
  await once(socket, event);
  // Until the pool listens.
  socket.on('error', () => undefined);
  return socket;
}
