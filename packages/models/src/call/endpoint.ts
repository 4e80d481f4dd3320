import type { WireProtocol } from './wire-protocol.ts';

/** The URL of a path of an API whose base URL this is. */
export function endpointUrl(baseUrl: string, path: string): string {
  const url = new URL(baseUrl);
  const [pathname = '', search] = path.split('?');
  url.pathname = `${url.pathname.replace(/\/$/, '')}${pathname}`;
  if (search !== undefined) url.search = search;
  return url.href;
}

/** The headers of every request to an API. */
export function endpointHeaders(
  protocol: WireProtocol,
  key: string | undefined,
): Readonly<Record<string, string>> {
  return {
    accept: 'application/json',
    'content-type': 'application/json',
    'user-agent': 'thrice',
    ...protocol.headers(key),
  };
}
