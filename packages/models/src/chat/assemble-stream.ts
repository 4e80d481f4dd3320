import { type ImagePart, ThriceError } from '@thrice/core';
import type OpenAI from 'openai';
import { APIError } from 'openai/core/error';
import { Stream } from 'openai/core/streaming';
import type * as z from 'zod';
import { decodeText } from '../transport/http-transport.ts';
import { chatChunkSchema, fieldOf, isRecord, mapOutput } from './chat-response.ts';
import { mapConnectionError } from './map-call-error.ts';
import { isTooDeep } from './parse-json.ts';

type Chunk = z.infer<typeof chatChunkSchema>;
type Delta = NonNullable<NonNullable<NonNullable<Chunk['choices']>[number]['delta']>>;
interface AssembledToolCall {
  id: string;
  readonly function: { name: string; arguments: string };
}

/** A streamed completion, assembled into the form of one that is not streamed. */
export interface AssembledStream {
  /** The chunks as far as they are readable, and the error object that ended them. */
  readonly raw: unknown;
  /** What arrived, if no event did; otherwise undefined. */
  readonly text: string | undefined;
  /** From `startedMs` to the first text, ms; null if there was none. */
  readonly ttftMs: number | null;
  /**
   * Why the stream is incomplete; undefined if it is complete. `APIError` for an error event, `connection-failed`
   * for a body that breaks off, `truncated-response` for an unreadable chunk or a stream without a finish reason.
   */
  readonly failure: ThriceError | APIError | undefined;
}

/**
 * Reads a stream of server-sent events to its end, or as far as it arrives, and assembles its chunks. Never throws.
 *
 * @param startedMs - When the request was sent, by `performance.now()`.
 */
export async function assembleStream(
  body: AsyncIterable<Uint8Array>,
  startedMs: number,
): Promise<AssembledStream> {
  const completion = new AssembledCompletion();
  const pieces: Uint8Array[] = [];
  let hasEvent = false;
  let ttftMs: number | null = null;
  let failure: AssembledStream['failure'];
  try {
    for await (const raw of decodeEvents(remember(body, pieces, () => hasEvent))) {
      hasEvent = true;
      completion.add(raw);
      if (ttftMs === null && completion.hasText()) ttftMs = performance.now() - startedMs;
    }
    if (!completion.isFinished()) failure = truncated('the stream ended without a finish reason');
  } catch (error) {
    failure = error instanceof ThriceError || error instanceof APIError ? error : unreadableChunk();
  }
  const error = failure instanceof APIError ? failure.error : undefined;
  hasEvent ||= error !== undefined;
  return {
    raw: completion.build(isTooDeep(error) ? undefined : error),
    text: hasEvent ? undefined : decodeText(pieces),
    ttftMs,
    failure,
  };
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

/** The completion that the chunks of a stream add up to. */
class AssembledCompletion {
  readonly #message = new AssembledMessage();
  #model: string | null | undefined;
  #finishReason: string | null | undefined;
  #usage: Readonly<Record<string, unknown>> | undefined;
  #hasChunk = false;

  add(raw: unknown): void {
    if (isTooDeep(raw)) throw unreadableChunk();
    this.#addUsage(fieldOf(raw, 'usage'));
    const parsed = chatChunkSchema.safeParse(raw);
    if (!parsed.success) throw unreadableChunk();
    const { model, choices } = parsed.data;
    const choice = choices?.[0];
    this.#hasChunk = true;
    this.#model ??= model;
    this.#finishReason = choice?.finish_reason ?? this.#finishReason;
    this.#message.add(choice?.delta ?? {});
  }

  hasText(): boolean {
    return this.#message.hasText();
  }

  isFinished(): boolean {
    return this.#finishReason !== undefined && this.#finishReason !== null;
  }

  /** @param error - The error object that ended the stream. */
  build(error: unknown): object {
    const choice = { message: this.#message.build(), finish_reason: this.#finishReason };
    return {
      model: this.#model,
      choices: this.#hasChunk ? [choice] : [],
      usage: this.#usage,
      ...(error !== undefined && { error }),
    };
  }

  /** A later count replaces an earlier one; a later chunk that has none erases nothing. */
  #addUsage(usage: unknown): void {
    if (!isRecord(usage)) return;
    const reported = Object.entries(usage).filter(([, count]) => count !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(reported) };
  }
}

/** The message that the deltas of a stream add up to. */
class AssembledMessage {
  readonly #texts: Partial<Record<'content' | 'refusal' | 'reasoning', string>> = {};
  readonly #images: ImagePart[] = [];
  readonly #toolCalls = new Map<number, AssembledToolCall>();

  add(delta: Delta): void {
    const { text, refusal, reasoning, images } = mapOutput(delta);
    this.#append('content', text);
    this.#append('refusal', refusal);
    this.#append('reasoning', reasoning);
    this.#images.push(...images);
    for (const [position, piece] of (delta.tool_calls ?? []).entries()) {
      const index = piece.index ?? position;
      const call = this.#toolCalls.get(index) ?? { id: '', function: { name: '', arguments: '' } };
      this.#toolCalls.set(index, call);
      // Only arguments come in pieces. Some servers repeat the id and the name in every chunk.
      call.id ||= piece.id ?? '';
      call.function.name ||= piece.function?.name ?? '';
      call.function.arguments += piece.function?.arguments ?? '';
    }
  }

  hasText(): boolean {
    return Object.values(this.#texts).some((text) => text !== '');
  }

  build(): object {
    const { content, refusal, reasoning } = this.#texts;
    const toolCalls = [...this.#toolCalls.values()];
    return {
      content,
      refusal,
      reasoning,
      ...(this.#images.length > 0 && {
        images: this.#images.map(({ url }) => ({ type: 'image_url', image_url: { url } })),
      }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
    };
  }

  #append(field: 'content' | 'refusal' | 'reasoning', text: string | null): void {
    if (text !== null) this.#texts[field] = (this.#texts[field] ?? '') + text;
  }
}

function unreadableChunk(): ThriceError {
  return truncated('expected a chunk of a chat completion, received something else');
}

function truncated(message: string): ThriceError {
  return new ThriceError({ code: 'truncated-response', message });
}
