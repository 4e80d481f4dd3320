import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { ThriceError } from '@thrice/core';

const CHUNK_BYTES = 256 * 1024;
const LINE_END = 0x0a;
/** An unfinished character at the end of a chunk has one byte less than the longest. */
const MAX_UNFINISHED_BYTES = 3;

/** Streams the bytes of a file, unpacked if its name ends in `.gz`. */
export async function* readBytes(path: string): AsyncIterable<Uint8Array> {
  const file = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  if (!path.toLowerCase().endsWith('.gz')) {
    yield* file as AsyncIterable<Buffer>;
    return;
  }
  const unpacked = createGunzip({ chunkSize: CHUNK_BYTES });
  file.on('error', (error) => unpacked.destroy(error));
  try {
    yield* file.pipe(unpacked) as AsyncIterable<Buffer>;
  } catch (error) {
    throw isGzipError(error) ? notGzip(path, error) : error;
  } finally {
    file.destroy();
  }
}

/**
 * Streams a text, which must be UTF-8: a character that was read wrongly would be sent to models unnoticed.
 *
 * @param maxLineBytes - A longer line is refused before it is in memory. @default no limit
 * @throws {ThriceError} `invalid-file` with the line, for other bytes and for a line that is too long.
 */
export async function* decodeUtf8(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  maxLineBytes = Number.POSITIVE_INFINITY,
): AsyncIterable<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let line = 1;
  let lineBytes = 0;
  let before: Uint8Array = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const text = decode(decoder, chunk);
    if (text === undefined) throw notUtf8(path, line + linesBeforeBadByte(before, chunk));
    const lastEnd = chunk.lastIndexOf(LINE_END);
    line += countLineEnds(chunk);
    lineBytes = lastEnd === -1 ? lineBytes + chunk.length : chunk.length - lastEnd - 1;
    if (lineBytes > maxLineBytes) throw tooLongLine(path, line, maxLineBytes);
    before = Buffer.concat([before, chunk.slice(-MAX_UNFINISHED_BYTES)]).subarray(
      -MAX_UNFINISHED_BYTES,
    );
    yield text;
  }
  if (decode(decoder) === undefined) throw notUtf8(path, line);
}

/** Undefined for bytes that are no UTF-8; without a chunk, for a text that ends within a character. */
function decode(decoder: InstanceType<typeof TextDecoder>, chunk?: Uint8Array): string | undefined {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch {
    return undefined;
  }
}

/**
 * Counts the line ends of a chunk up to its first bad byte.
 *
 * @param before - The last bytes before the chunk, of which the last may begin a character. All others are good.
 */
function linesBeforeBadByte(before: Uint8Array, chunk: Uint8Array): number {
  const isContinuation = (byte: number) => byte >> 6 === 0b10;
  const start = before.findIndex((byte) => !isContinuation(byte));
  const bytes = Buffer.concat([start === -1 ? Buffer.alloc(0) : before.subarray(start), chunk]);
  let count = 0;
  let from = 0;
  for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END, from)) {
    if (!isUtf8(bytes.subarray(from, end))) break;
    count += 1;
    from = end + 1;
  }
  return count - countLineEnds(before);
}

function countLineEnds(bytes: Uint8Array): number {
  let count = 0;
  for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END, end + 1)) {
    count += 1;
  }
  return count;
}

function isGzipError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}

function notGzip(path: string, cause: Error): ThriceError {
  return new ThriceError({
    code: 'invalid-file',
    message: `${path}: expected a gzip file, as its name says (${cause.message})`,
    cause,
  });
}

function notUtf8(path: string, line: number): ThriceError {
  return new ThriceError({
    code: 'invalid-file',
    message: `${path}:${line}: expected UTF-8 text, received other bytes; save it as UTF-8 (in a spreadsheet: "CSV UTF-8")`,
  });
}

function tooLongLine(path: string, line: number, maxBytes: number): ThriceError {
  return new ThriceError({
    code: 'invalid-file',
    message: `${path}:${line}: expected lines of at most ${maxBytes / 2 ** 20} MiB, received a longer one; write one row per line`,
  });
}
