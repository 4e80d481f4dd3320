import { readFileSync } from 'node:fs';
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import { ThriceError } from '@thrice/core';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The proxies that requests go through. */
export interface Proxies {
  /** URL of the proxy for `http:` endpoints; undefined for none. */
  readonly http: string | undefined;
  /** URL of the proxy for `https:` endpoints; undefined for none. */
  readonly https: string | undefined;
  /** The hosts that are reached directly. */
  readonly noProxy: string | undefined;
}

/**
 * Reads `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; the lowercase name wins, as everywhere.
 *
 * @throws {ThriceError} `endpoint-unreachable` for a proxy that is no `http:` or `https:` URL.
 * @see https://about.gitlab.com/blog/we-need-to-talk-no-proxy
 */
export function readProxies(environment: Environment): Proxies {
  return {
    http: readProxy('http_proxy', environment),
    https: readProxy('https_proxy', environment),
    noProxy: firstSet(environment, 'no_proxy'),
  };
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

function readProxy(name: string, environment: Environment): string | undefined {
  const text = firstSet(environment, name);
  if (text === undefined) return undefined;
  // As in curl, a proxy without a scheme is an HTTP one.
  const url = text.includes('://') ? text : `http://${text}`;
  if (/^https?:\/\//i.test(url) && URL.canParse(url)) return url;
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
