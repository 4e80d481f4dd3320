import { ThriceError } from '@thrice/core';
import { describe, expect, it } from 'vitest';
import { mapTransportError } from '../../../packages/models/src/transport/map-transport-error.ts';

/** An error of Node. */
function anError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

describe('mapTransportError', () => {
  it.each([
    ['ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1', 'connection-failed', 'transient'],
    ['ECONNRESET', 'socket hang up', 'connection-failed', 'transient'],
    ['ENOTFOUND', 'getaddrinfo ENOTFOUND models.test', 'connection-failed', 'transient'],
    ['EPROTO', 'write EPROTO tlsv1 alert internal error', 'connection-failed', 'transient'],
    ['EPROTO', 'write EPROTO wrong version number', 'endpoint-unreachable', 'misconfigured'],
    [
      'ERR_SSL_WRONG_VERSION_NUMBER',
      'wrong version number',
      'endpoint-unreachable',
      'misconfigured',
    ],
    ['CERT_HAS_EXPIRED', 'certificate has expired', 'endpoint-unreachable', 'misconfigured'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'altnames', 'endpoint-unreachable', 'misconfigured'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'self-signed', 'endpoint-unreachable', 'misconfigured'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unable', 'endpoint-unreachable', 'misconfigured'],
    ['UND_ERR_HEADERS_OVERFLOW', 'Headers Overflow Error', 'truncated-response', 'transient'],
    ['HPE_INVALID_CONSTANT', 'Parse Error: Expected HTTP/', 'truncated-response', 'transient'],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'mismatch', 'truncated-response', 'transient'],
    ['UND_ERR_SOCKET', 'other side closed', 'connection-failed', 'transient'],
    ['Z_DATA_ERROR', 'incorrect header check', 'truncated-response', 'transient'],
    ['ERR__ERROR_FORMAT_CL_SPACE', 'Decompression failed', 'truncated-response', 'transient'],
    ['ZSTD_error_prefix_unknown', 'Unknown frame', 'truncated-response', 'transient'],
  ])('maps %s (%s) to %s', (code, message, expected, errorClass) => {
    const cause = anError(code, message);

    const error = mapTransportError(new Error('request failed', { cause }));

    expect(error).toMatchObject({ code: expected, class: errorClass });
  });

  it('describes the root of an error, with its code if the message has none', () => {
    const refused = anError('ECONNREFUSED', 'connect ECONNREFUSED ::1:1');
    const every = new AggregateError([refused, anError('ECONNREFUSED', 'other')], '');

    expect(mapTransportError(every).message).toBe('connect ECONNREFUSED ::1:1');
    expect(mapTransportError(anError('ECONNRESET', 'socket hang up')).message).toBe(
      'socket hang up (ECONNRESET)',
    );
    expect(mapTransportError('no').message).toBe('no');
  });

  it('maps an error of the HTTP parser, which has no code', () => {
    const cause = Object.assign(new Error('Expected HTTP/'), { name: 'HTTPParserError' });

    expect(mapTransportError(cause)).toMatchObject({ code: 'truncated-response' });
  });

  it('keeps an error of Thrice', () => {
    const error = new ThriceError({ code: 'truncated-response', message: 'too long' });

    expect(mapTransportError(error)).toBe(error);
  });
});
