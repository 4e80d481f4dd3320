import type { Duplex } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { ThriceError } from '@thrice/core';

/**
 * More are an attack: each can multiply a body by a thousand (CVE-2022-32206).
 * https://curl.se/docs/CVE-2022-32206.html (2022-06)
 */
const MAX_ENCODINGS = 5;
/** What can be read of a body that is cut off is read, as far as it goes. */
const ZLIB = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
};
const ZSTD = { flush: constants.ZSTD_e_flush, finishFlush: constants.ZSTD_e_flush };

/**
 * Opens the decoder of a body.
 *
 * @param header - Its `content-encoding`.
 * @param first - How it begins: a server or a proxy may name an encoding that the body does not have, or have one
 *   that is not named.
 * @returns Undefined for a body that is not encoded.
 * @throws {ThriceError} `truncated-response` for an encoding that nobody has heard of.
 */
export function openDecoder(
  header: string | readonly string[] | undefined,
  first: Buffer,
): Duplex | undefined {
  const named = String(header ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  const encodings = named.length > 1 ? named : correctName(named[0], first);
  if (encodings.length > MAX_ENCODINGS) throw undecodable(`${encodings.length} encodings`);
  // The last one named is the outermost.
  const [outermost, ...inner] = encodings.toReversed().map((name) => createDecoder(name, first));
  return inner.reduce<Duplex | undefined>((outer, next) => outer?.compose(next), outermost);
}

function correctName(name: string | undefined, first: Buffer): readonly string[] {
  const found = sniff(first);
  if (found !== undefined) return [found];
  const isDisproved = first.length > 1 && (name === 'gzip' || name === 'x-gzip' || name === 'zstd');
  return name === undefined || isDisproved ? [] : [name];
}

/** By the numbers that such data begins with, and no text does. */
function sniff(first: Buffer): string | undefined {
  if (first[0] === 0x1f && first[1] === 0x8b) return 'gzip';
  if (first.length > 3 && first.readUInt32LE(0) === 0xfd2fb528) return 'zstd';
  return undefined;
}

function createDecoder(name: string, first: Buffer): Duplex {
  switch (name) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(ZLIB);
    case 'deflate':
      // Some servers leave out the header that the name promises.
      return (first[0] ?? 0) % 16 === 8 ? createInflate(ZLIB) : createInflateRaw(ZLIB);
    case 'br':
      return createBrotliDecompress(BROTLI);
    case 'zstd':
      return createZstdDecompress(ZSTD);
    default:
      throw undecodable(JSON.stringify(name.slice(0, 40)));
  }
}

function undecodable(what: string): ThriceError {
  return new ThriceError({
    code: 'truncated-response',
    message: `the body has the content-encoding ${what}, which cannot be decoded`,
  });
}
