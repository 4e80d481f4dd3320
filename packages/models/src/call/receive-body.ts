import { ThriceError } from '@thrice/core';
import { decodeText, type HttpResponse } from '../transport/http-transport.ts';
import { bodyTooLong } from '../transport/map-transport-error.ts';
import { AssembledStream, MAX_DOCUMENT_BYTES, type ReceivedBody } from './assemble-stream.ts';
import { parseJson } from './parse-json.ts';
import type { StreamAssembly } from './wire-protocol.ts';

/**
 * The longest stream, of which only the answer is kept: 128,000 tokens in events of some 350 bytes each, as OpenAI
 * sends them, take 45 MB.
 */
const MAX_STREAM_BYTES = 128 * 1024 * 1024;
/** What is kept of a body that is no answer: enough to see what it is. */
const MAX_KEPT_BYTES = 2 * 1024 * 1024;

/**
 * Receives a body by what it is, a JSON document or a stream of events, whatever was asked for and whatever its
 * content type says. Never throws: what arrived is paid for.
 *
 * @param startAssembly - Of the protocol that the server speaks; called for a stream.
 * @param startedMs - When the request was sent, by `performance.now()`.
 */
export async function receiveBody(
  response: HttpResponse,
  startAssembly: () => StreamAssembly,
  startedMs: number,
): Promise<ReceivedBody> {
  const reader = new BodyReader(startAssembly, startedMs);
  const failure = await response.readBody(MAX_STREAM_BYTES, (piece) => reader.add(piece));
  return reader.end(failure);
}

/** Reads the pieces of a body. States: nothing but white space so far; document; stream. */
class BodyReader {
  readonly #startAssembly: () => StreamAssembly;
  readonly #startedMs: number;
  /** Of a document, all; of a stream, those before its first event. */
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  /** Its first characters, until they tell what it is. */
  #head: string | undefined = '';
  #stream: AssembledStream | undefined;

  constructor(startAssembly: () => StreamAssembly, startedMs: number) {
    this.#startAssembly = startAssembly;
    this.#startedMs = startedMs;
  }

  add(piece: Buffer): boolean {
    if (this.#stream !== undefined) return this.#addToStream(this.#stream, piece);
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes > MAX_DOCUMENT_BYTES) throw bodyTooLong(MAX_DOCUMENT_BYTES);
    if (this.#head === undefined || !this.#isStream(piece)) return false;
    this.#stream = new AssembledStream(this.#startAssembly(), this.#startedMs);
    return this.#stream.add(Buffer.concat(this.#pieces));
  }

  end(failure: ThriceError | undefined): ReceivedBody {
    const streamed = this.#stream?.end(failure);
    const hasEvent = this.#stream?.hasEvent === true;
    if (streamed === undefined || !hasEvent) return this.#endDocument(failure);
    if (streamed.failure === undefined) return streamed;
    const text = JSON.stringify(streamed.raw);
    if (text.length <= MAX_KEPT_BYTES) return streamed;
    return { ...streamed, raw: { text: text.slice(0, MAX_KEPT_BYTES) } };
  }

  #endDocument(failure: ThriceError | undefined): ReceivedBody {
    const isReadable = failure?.code !== 'truncated-response' && this.#stream === undefined;
    const raw = isReadable ? parseJson(decodeText(this.#pieces)) : undefined;
    if (raw !== undefined) return { raw, ttftMs: null, failure: undefined };
    const text = decodeText(firstBytes(this.#pieces));
    return { raw: { text }, ttftMs: null, failure: failure ?? notJson(text) };
  }

  #addToStream(stream: AssembledStream, piece: Buffer): boolean {
    if (!stream.hasEvent) this.#pieces.push(piece);
    return stream.add(piece);
  }

  /** Whether the first characters are those of an event; decides it once there are enough of them. */
  #isStream(piece: Buffer): boolean {
    const head = ((this.#head ?? '') + piece.toString('latin1')).replace(BLANK_START, '');
    const isOpen = [BYTE_ORDER_MARK, ...STREAM_BEGINNINGS].some((text) => text.startsWith(head));
    this.#head = isOpen ? head : undefined;
    return STREAM_BEGINNINGS.some((text) => head.startsWith(text));
  }
}

/** The fields of an event, and a comment. */
const STREAM_BEGINNINGS = [':', 'data:', 'event:', 'id:', 'retry:', 'error:'];

/** In UTF-8, read as Latin-1. */
const BYTE_ORDER_MARK = '\u00ef\u00bb\u00bf';
const BLANK_START = new RegExp(`^(?:${BYTE_ORDER_MARK})?[ \\t\\r\\n]*`);

function firstBytes(pieces: readonly Buffer[]): readonly Buffer[] {
  let left = MAX_KEPT_BYTES;
  return pieces.flatMap((piece) => {
    const kept = piece.subarray(0, left);
    left -= kept.length;
    return kept.length === 0 ? [] : [kept];
  });
}

/** Without its cause: the parser's error quotes the body, which may repeat the key. */
function notJson(text: string): ThriceError {
  const isPage = /^\s*</.test(text);
  const found = isPage ? 'a page of HTML' : 'a body that is cut off or not JSON';
  return new ThriceError({
    code: 'truncated-response',
    message: `expected JSON, received ${found}`,
    details: { isPage },
  });
}
