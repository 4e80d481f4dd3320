import { type ErrorCode, ThriceError } from '@thrice/core';

/**
 * A certificate that cannot be verified. Repeating the request does not help, and each of them ends before the key
 * is sent.
 * https://nodejs.org/api/tls.html#x509-certificate-error-codes (2026-11)
 */
const CERTIFICATE =
  /^(CERT_\w+|UNABLE_TO_\w+|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|INVALID_CA|PATH_LENGTH_EXCEEDED|INVALID_PURPOSE|HOSTNAME_MISMATCH|ERR_TLS_CERT_ALTNAME_INVALID)$/;
/** An authority that this machine does not know, rather than a certificate that is wrong. */
const UNKNOWN_AUTHORITY = /^(UNABLE_TO_\w+|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT)$/;
/**
 * What the HTTP parsers report of a malformed response: undici's with only a name, or as a mismatch of lengths, and
 * Node's, for the tunnel of a proxy, with a code.
 * https://github.com/nodejs/undici/blob/v8.12.4/lib/dispatcher/client-h1.js, https://github.com/nodejs/llhttp (2026-11)
 */
const NOT_HTTP = /^(HTTPParserError$|UND_ERR_RES_CONTENT_LENGTH_MISMATCH$|HPE_)/;
/** What Node's decoders of content encodings report. */
const UNDECODABLE = /^(Z_|ERR__|ERR_BROTLI|ZSTD_)/;
/** What OpenSSL reports of a server that answers in plain HTTP. */
const NOT_TLS = /wrong version number|packet length too long/;
/**
 * What Node reports before there is a connection: the request certainly never left.
 * https://nodejs.org/api/errors.html#common-system-errors (2026-11)
 */
const NOT_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EAI_FAIL|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN)$/;

/** Translates what Node and undici report of a request that does not reach its end; keeps an error of Thrice. */
export function mapTransportError(error: unknown): ThriceError {
  if (error instanceof ThriceError) return error;
  const cause = rootCause(error);
  const name = nameOf(cause);
  const text = cause instanceof Error ? cause.message : String(cause);
  const described = name === '' || text.includes(name) ? text : `${text} (${name})`;
  const [code, message] = classify(name, described);
  const details = code === 'connection-failed' ? { isUnsent: NOT_CONNECTED.test(name) } : {};
  return new ThriceError({ code, message, details, cause: error });
}

/** The error of a body that is longer than it may be. */
export function bodyTooLong(maxBytes: number): ThriceError {
  return new ThriceError({
    code: 'truncated-response',
    message: `the body is longer than ${maxBytes / 1024 / 1024} MiB; the rest was not read`,
  });
}

function classify(name: string, text: string): readonly [ErrorCode, string] {
  if (UNKNOWN_AUTHORITY.test(name)) {
    const remedy = 'name the file of its certificate authority in NODE_EXTRA_CA_CERTS';
    return [
      'endpoint-unreachable',
      `the certificate of the server cannot be verified: ${text}; ${remedy}`,
    ];
  }
  if (CERTIFICATE.test(name)) {
    return ['endpoint-unreachable', `the certificate of the server is refused: ${text}`];
  }
  if (NOT_TLS.test(text)) {
    return ['endpoint-unreachable', 'the server does not speak TLS, as https:// promises'];
  }
  if (name === 'UND_ERR_HEADERS_OVERFLOW') {
    return ['truncated-response', `the head of the response is longer than 64 KiB: ${text}`];
  }
  if (NOT_HTTP.test(name)) return ['truncated-response', `the response is not HTTP: ${text}`];
  if (UNDECODABLE.test(name)) {
    return ['truncated-response', `the body is not encoded as its content-encoding says: ${text}`];
  }
  return ['connection-failed', text];
}

/** The code of an error; undici's parser has only a name. */
function nameOf(cause: unknown): string {
  if (!(cause instanceof Error)) return '';
  if (cause.name === 'HTTPParserError') return cause.name;
  return 'code' in cause ? String(cause.code) : '';
}

/** What broke, not what noticed; of several addresses that were tried, the first. */
function rootCause(error: unknown): unknown {
  let root = error;
  while (root instanceof Error) {
    const inner: unknown = root instanceof AggregateError ? root.errors[0] : root.cause;
    if (inner === undefined) return root;
    root = inner;
  }
  return root;
}
