import { ThriceError } from '@thrice/core';
import type { APIError } from 'openai/core/error';
import { readText } from '../transport/http-transport.ts';
import { assembleStream } from './assemble-stream.ts';
import { mapConnectionError } from './map-call-error.ts';
import { parseJson } from './parse-json.ts';
import type { StreamAssembly } from './wire-protocol.ts';

/** The body of a successful response, as far as it arrived. */
export interface ReceivedBody {
  /** The JSON document, or the assembled events of a stream; `{ text }` for a body that is neither. */
  readonly raw: unknown;
  /** From the start of the call to the first text of a stream, ms; null if there was none. */
  readonly ttftMs: number | null;
  /** Why the body is incomplete; undefined if it is complete. `APIError` for an error event of a stream. */
  readonly failure: ThriceError | APIError | undefined;
}

/** Receives a body that is one JSON document. Never throws: what arrived is paid for. */
export async function receiveDocument(body: AsyncIterable<Uint8Array>): Promise<ReceivedBody> {
  const { text, failure } = await readText(body);
  return readDocument(text, failure === undefined ? undefined : mapConnectionError(failure));
}

/** Receives a body that should be a stream of events. Never throws: what arrived is paid for. */
export async function receiveStream(
  body: AsyncIterable<Uint8Array>,
  assembly: StreamAssembly,
  startedMs: number,
): Promise<ReceivedBody> {
  const { text, ...stream } = await assembleStream(body, assembly, startedMs);
  // Some servers answer with a document all the same.
  return text === undefined ? stream : readDocument(text, stream.failure);
}

function readDocument(text: string, failure: ReceivedBody['failure']): ReceivedBody {
  const raw = parseJson(text);
  if (raw !== undefined) return { raw, ttftMs: null, failure: undefined };
  return { raw: { text }, ttftMs: null, failure: failure ?? notJson() };
}

/** Without its cause: the parser's error quotes the body, which may repeat the key. */
function notJson(): ThriceError {
  return new ThriceError({
    code: 'truncated-response',
    message: 'expected JSON, received a body that is cut off or not JSON',
  });
}
