/** Returns what a server is told of the credentials in its URL (RFC 7617); undefined for a URL without them. */
export function basicAuthorization({
  username,
  password,
}: Pick<URL, 'username' | 'password'>): string | undefined {
  if (username === '') return undefined;
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}
