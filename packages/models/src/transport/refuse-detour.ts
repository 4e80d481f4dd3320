import { ThriceError } from '@thrice/core';
import type { HttpResponse } from './http-transport.ts';

const MAX_SHOWN_CHARS = 200;

/**
 * Returns the error of a response that does not come from the API: a redirect, which is never followed, because the
 * request carries a key, or a proxy that asks for credentials.
 *
 * @returns Undefined for a response of the API itself.
 */
export function refuseDetour(
  { status, headers }: Pick<HttpResponse, 'status' | 'headers'>,
  url: string,
): ThriceError | undefined {
  if (status === 407) {
    return refusal(status, 'the proxy asks for credentials: add them to the URL of the proxy');
  }
  const { location } = headers;
  if (status < 300 || status > 399 || typeof location !== 'string') return undefined;
  const target = URL.parse(location, url);
  // Without the query, which may hold a session.
  const shown = target === null ? location : `${target.origin}${target.pathname}`;
  return refusal(
    status,
    `the endpoint redirects to ${shown.slice(0, MAX_SHOWN_CHARS)}, which is not followed, because a key was sent: correct the base URL`,
  );
}

function refusal(status: number, message: string): ThriceError {
  return new ThriceError({
    code: 'endpoint-unreachable',
    message: `${status} ${message}`,
    details: { status },
  });
}
