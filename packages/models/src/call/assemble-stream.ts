import { ThriceError } from '@thrice/core';
import type OpenAI from 'openai';
import { APIError } from 'openai/core/error';
import { Stream } from 'openai/core/streaming';
import { decodeText } from '../transport/http-transport.ts';
import { mapConnectionError } from './map-call-error.ts';
import { isTooDeep } from './parse-json.ts';
import type { StreamAssembly } from './wire-protocol.ts';

/** A stream, assembled into the document that it stands for. */
export interface AssembledStream {
  /** The events as far as they are readable, and the error object that ended them. */
  readonly raw: unknown;
  /** What arrived, if no event did; otherwise undefined. */
  readonly text: string | undefined;
  /** From `startedMs` to the first text, ms; null if there was none. */
  readonly ttftMs: number | null;
  /**
   * Why the stream is incomplete; undefined if it is complete. `APIError` for an error event, `connection-failed`
   * for a body that breaks off, `truncated-response` for an unreadable event or a stream without the end of its answer.
   */
  readonly failure: ThriceError | APIError | undefined;
}

/**
 * Reads a stream of server-sent events to its end, or as far as it arrives, and assembles them. Never throws.
 *
 * @param assembly - Of the protocol that the server speaks.
 * @param startedMs - When the request was sent, by `performance.now()`.
 */
export async function assembleStream(
  body: AsyncIterable<Uint8Array>,
  assembly: StreamAssembly,
  startedMs: number,
): Promise<AssembledStream> {
  const pieces: Uint8Array[] = [];
  let hasEvent = false;
  let ttftMs: number | null = null;
  let failure: AssembledStream['failure'];
  try {
    for await (const raw of decodeEvents(remember(body, pieces, () => hasEvent))) {
      hasEvent = true;
      addEvent(assembly, raw);
      if (ttftMs === null && assembly.hasText()) ttftMs = performance.now() - startedMs;
    }
    if (!assembly.isFinished()) failure = truncated('the stream ended without a finish reason');
  } catch (error) {
    failure = error instanceof ThriceError || error instanceof APIError ? error : unreadableEvent();
  }
  const error = failure instanceof APIError ? failure.error : undefined;
  hasEvent ||= error !== undefined;
  return {
    raw: assembly.build(isTooDeep(error) ? undefined : error),
    text: hasEvent ? undefined : decodeText(pieces),
    ttftMs,
    failure,
  };
}

function addEvent(assembly: StreamAssembly, event: unknown): void {
  if (isTooDeep(event)) throw unreadableEvent();
  assembly.add(event);
}

/** Yields the body, and keeps its pieces until the first event has arrived. */
async function* remember(
  body: AsyncIterable<Uint8Array>,
  pieces: Uint8Array[],
  hasEvent: () => boolean,
): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const piece of body) {
      if (!hasEvent()) pieces.push(piece);
      yield piece;
    }
  } catch (error) {
    throw mapConnectionError(error);
  }
}

/** Decodes with the `openai` package, which reads only the body of the response and logs to the client. */
function decodeEvents(body: AsyncIterable<Uint8Array>): AsyncIterable<unknown> {
  const response = { body } as unknown as Response;
  const silent = { logLevel: 'off' } as OpenAI;
  return Stream.fromSSEResponse(response, new AbortController(), silent);
}

/** An event that cannot be read as part of an answer. */
export function unreadableEvent(): ThriceError {
  return truncated('expected an event of a streamed answer, received something else');
}

function truncated(message: string): ThriceError {
  return new ThriceError({ code: 'truncated-response', message });
}
