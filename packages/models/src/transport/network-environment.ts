import { readFileSync } from 'node:fs';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { ThriceError } from '@thrice/core';
import { isLoopback } from './is-loopback.ts';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Finds the proxy for a URL in `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; the lowercase name wins, as everywhere. A
 * loopback address has none.
 *
 * @returns Undefined if the server is reached directly.
 * @throws {ThriceError} `endpoint-unreachable` for a proxy that is no `http:` or `https:` URL.
 * @see https://about.gitlab.com/blog/we-need-to-talk-no-proxy
 */
export function findProxy(target: URL, environment: Environment): URL | undefined {
  if (isLoopback(target.href)) return undefined;
  const proxy = readProxy(target.protocol === 'https:' ? 'https_proxy' : 'http_proxy', environment);
  const direct = firstSet(environment, 'no_proxy')?.split(/[\s,]+/) ?? [];
  return direct.some((entry) => isCovered(target, entry.toLowerCase())) ? undefined : proxy;
}

/**
 * The certificate authorities that servers are checked against: those of Node, which include `NODE_EXTRA_CA_CERTS`,
 * and those in the file that `SSL_CERT_FILE` names, as OpenSSL, Python and Go read it.
 *
 * @returns Undefined if Node's are all.
 * @throws {ThriceError} `endpoint-unreachable` for a file that cannot be read.
 */
export function openSecureContext(environment: Environment): SecureContext | undefined {
  const path = environment['SSL_CERT_FILE'];
  if (path === undefined || path === '') return undefined;
  try {
    return createSecureContext({
      ca: [...getCACertificates('default'), readFileSync(path, 'utf8')],
    });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw unusable(`SSL_CERT_FILE: expected a file of certificates, received ${reason}`);
  }
}

/** An entry covers a host and those below it, as in curl and Go, or all with `*`; with a port, only that port. */
function isCovered({ hostname, port, protocol }: URL, entry: string): boolean {
  const [, name = entry, onlyPort] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [];
  const usedPort = port === '' ? { 'http:': '80', 'https:': '443' }[protocol] : port;
  if (name === '' || (onlyPort !== undefined && onlyPort !== usedPort)) return false;
  const parent = withoutBrackets(name.replace(/^\*?\./, ''));
  const host = withoutBrackets(hostname);
  return name === '*' || host === parent || host.endsWith(`.${parent}`);
}

function readProxy(name: string, environment: Environment): URL | undefined {
  const text = firstSet(environment, name);
  if (text === undefined) return undefined;
  // As in curl, a proxy without a scheme is an HTTP one.
  const url = text.includes('://') ? text : `http://${text}`;
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return new URL(url);
  // The URL may hold a password.
  throw unusable(
    `${name.toUpperCase()}: expected the URL of a proxy with http:// or https://, received another text`,
  );
}

function firstSet(environment: Environment, name: string): string | undefined {
  return [environment[name], environment[name.toUpperCase()]]
    .map((value) => value?.trim())
    .find((value) => value !== undefined && value !== '');
}

function unusable(message: string): ThriceError {
  return new ThriceError({ code: 'endpoint-unreachable', message });
}

/** An IPv6 address as sockets take it. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}
