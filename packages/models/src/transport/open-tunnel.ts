import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import type { SecureContext } from 'node:tls';
import { ThriceError } from '@thrice/core';
import { basicAuthorization } from './basic-authorization.ts';
import { withoutBrackets } from './network-environment.ts';

/** A proxy that does not know who asks, or does not let them through, answers the next request alike. */
const REFUSALS: readonly (number | undefined)[] = [401, 403, 407];

/** Where a tunnel leads. */
export interface TunnelEnd {
  readonly host: string;
  readonly port: number;
  /** Closes the tunnel. */
  readonly signal: AbortSignal;
}

/**
 * Opens a tunnel through a proxy (`CONNECT`).
 *
 * @param secureContext - What the certificate of the proxy is checked against.
 * @throws {ThriceError} `endpoint-unreachable` for a proxy that refuses, `connection-failed` for one that cannot.
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-9.3.6
 */
export async function openTunnel(
  proxy: URL,
  { host, port, signal }: TunnelEnd,
  secureContext: SecureContext | undefined,
): Promise<Duplex> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const send = proxy.protocol === 'https:' ? requestHttps : requestHttp;
  const options = {
    method: 'CONNECT',
    host: withoutBrackets(proxy.hostname),
    port: proxy.port,
    path: authority,
    headers: { host: authority, ...proxyCredentials(proxy) },
    agent: false,
    signal,
    secureContext,
  };
  return await new Promise((resolve, reject) => {
    const request = send(options);
    request.on('connect', ({ statusCode = 0 }, socket) => {
      if (statusCode >= 200 && statusCode < 300) {
        resolve(socket);
      } else {
        socket.destroy();
        reject(tunnelRefused(statusCode));
      }
    });
    request.on('error', reject);
    request.end();
  });
}

/** The header with the credentials in the URL of a proxy; none for a URL without them. */
export function proxyCredentials(url: URL): Record<string, string> {
  const authorization = basicAuthorization(url);
  return authorization === undefined ? {} : { 'proxy-authorization': authorization };
}

function tunnelRefused(status: number): ThriceError {
  return new ThriceError({
    code: REFUSALS.includes(status) ? 'endpoint-unreachable' : 'connection-failed',
    message: `the proxy refuses a connection to the server: ${status}`,
  });
}
