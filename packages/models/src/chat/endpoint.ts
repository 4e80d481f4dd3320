/** The URL of a path of an API whose base URL this is. */
export function endpointUrl(baseUrl: string, path: string): string {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/$/, '')}${path}`;
  return url.href;
}

/**
 * The headers of every request to an API.
 *
 * @param key - Undefined if the server needs none; it receives `none`, because some expect the header.
 */
export function endpointHeaders(key: string | undefined): Readonly<Record<string, string>> {
  return {
    accept: 'application/json',
    'content-type': 'application/json',
    'user-agent': 'thrice',
    authorization: `Bearer ${key ?? 'none'}`,
  };
}
